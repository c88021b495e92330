// Package agent is what a worker that asks a language model is made of: a small
// port to models, prompts in which data cannot pass for instructions, answers
// that are read strictly, prices, and a bounded loop of tool calls.
//
// The package promises that an answer is either wholly valid or an error of a
// class, never a partial object or a guessed value; that every model call is
// estimated before and priced after; and that an exchange ends. What it does
// not promise is that a model tells the truth: that is the gate's business,
// with evidence, limits, reviews and approvals.
//
// Adapters stand in packages of their own (openai, bedrock, scripted), so that
// a program links only what it uses. An adapter makes one call and never
// retries: attempts are counted by the gate, in one place.
package agent
