// Package campaign holds what the workers of a campaign hand each other.
package campaign

// Brand is the fact brand/rules.
type Brand struct {
	Product   string   `json:"product"`
	What      string   `json:"what"`
	SignOff   string   `json:"sign_off"`
	Call      string   `json:"call"`
	Forbidden []string `json:"forbidden"`
}

// Link is an approved source with the one claim that it supports.
type Link struct {
	ID        string `json:"id"`
	URL       string `json:"url"`
	Title     string `json:"title"`
	Publisher string `json:"publisher"`
	Date      string `json:"date"`
	Topic     string `json:"topic"`
	Claim     string `json:"claim"`
}

// Quote is what a customer said and lets us say.
type Quote struct {
	ID       string `json:"id"`
	Date     string `json:"date"`
	Customer string `json:"customer"`
	Topic    string `json:"topic"`
	Text     string `json:"text"`
}

// Angle is what a campaign is about.
type Angle struct {
	Topic    string  `json:"topic"`
	Headline string  `json:"headline"`
	Why      string  `json:"why"`
	Links    []Link  `json:"links"`
	Quotes   []Quote `json:"quotes"`
}

// Draft is an e-mail, a landing page and posts.
type Draft struct {
	Email   Text     `json:"email"`
	Landing Text     `json:"landing"`
	Posts   []string `json:"posts"`
	Claims  []Claim  `json:"claims"`
	// Quotes are the ids of the quotes that are used.
	Quotes []string `json:"quotes"`
}

// Text is a text under a headline.
type Text struct {
	Headline string `json:"headline"`
	Body     string `json:"body"`
}

// Claim is a claim of a draft with the id of its source.
type Claim struct {
	Text   string `json:"text"`
	Source string `json:"source"`
}

// Parts are all texts of a draft, by where they stand.
func (d Draft) Parts() map[string]string {
	parts := map[string]string{"email": d.Email.Headline + "\n" + d.Email.Body, "landing": d.Landing.Headline + "\n" + d.Landing.Body}
	for i, post := range d.Posts {
		parts["post "+string(rune('1'+i))] = post
	}
	return parts
}

// Verdict is what the brand checker found (schemas of brand-checker).
type Verdict struct {
	Unsupported []Fault `json:"unsupported"`
	Breaches    []Fault `json:"breaches"`
}

// Fault is a word or figure that may not stand where it does.
type Fault struct {
	Where string `json:"where"`
	Text  string `json:"text"`
	Why   string `json:"why"`
}
