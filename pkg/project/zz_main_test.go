package project
import ("testing";"time";"fmt";"github.com/outerloop-dev/outerloop/pkg/rule";"github.com/outerloop-dev/outerloop/pkg/schema";"github.com/outerloop-dev/outerloop/pkg/loop";"os";"path/filepath")
func TestZZ(t *testing.T){
 s:=time.Now(); e,_:=rule.NewEnv(rule.Config{Names: map[string]*schema.Type{"a":schema.Scalar(schema.Int)}}); fmt.Println("env1",time.Since(s))
 s=time.Now(); e.CompileBool("a > 1"); fmt.Println("first compile",time.Since(s))
 z,_:=time.LoadLocation("Europe/Berlin"); s=time.Now(); rule.NewEnv(rule.Config{Zone:z}); fmt.Println("env zone",time.Since(s))
 fs,_:=filepath.Glob("../../functions/workers/*/schemas/*.json"); s=time.Now(); for _,f:=range fs { b,_:=os.ReadFile(f); s2:=time.Now(); schema.Compile(f,b); fmt.Println(f,time.Since(s2)) }; fmt.Println("schemas",time.Since(s))
 s=time.Now(); b,_:=os.ReadFile("../../statemachines/crm-followup.loop.yaml"); loop.Read("x",b); fmt.Println("read",time.Since(s))
 s=time.Now(); loop.Read("x",b); fmt.Println("read2",time.Since(s))
 s=time.Now(); Open("../.."); fmt.Println("open",time.Since(s))
 s=time.Now(); Open("../.."); fmt.Println("open2",time.Since(s))
}
