/** Ordinary work passes in the stock profile. Programs that are not installed here are named, not passed over in silence. */
import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { here } from "./gate.ts";
import { type Place, place } from "./runner.ts";

const python3 = "python3 in a folder of the system";
const python = systemPython();
if (python === undefined) console.warn(`NOT TESTED here: python, since there is no ${python3}`);

/** A python3 that the stock profile grants: what is first in PATH may be a version manager's, in a home. */
function systemPython(): string | undefined {
  const { stdout } = spawnSync("which", ["-a", "python3"], { encoding: "utf8" });
  return ["/usr/bin/python3", ...(stdout ?? "").split("\n").filter(Boolean)].find((path) => {
    const works = spawnSync(path, ["-c", "import venv, multiprocessing, pty"]).status === 0;
    return works && [path, realpathSync(path)].every((one) => /^\/(usr|bin|opt)\//.test(one));
  });
}

/** [what, programs that it needs, command, what it must print at its end] */
const work: [string, string[], string, string | RegExp][] = [
  [
    "git init, commit, stash, worktree",
    ["git"],
    `
    git init -q -b main repo && cd repo && git config user.email a@b && git config user.name n
    echo one > f && git add . && git commit -q -m one && echo two > f && git stash -q && git stash pop -q
    git checkout -q -- f && git worktree add -q ../tree -b other && cd ../tree && echo three > f && git commit -qam three
    git log --format=%s`,
    "three\none",
  ],
  [
    "npm ci and test",
    ["npm"],
    `
    mkdir -p app/dep && cd app && echo '{"name":"dep","version":"1.0.0","main":"i.js"}' > dep/package.json
    echo 'module.exports = 42' > dep/i.js
    echo '{"name":"app","version":"1.0.0","dependencies":{"dep":"file:dep"},"scripts":{"test":"node t.js"}}' > package.json
    echo 'console.log("dep says " + require("dep"))' > t.js
    npm install --silent --no-audit --no-fund --offline && rm -r node_modules && npm ci --silent --no-audit --no-fund --offline
    npm test --silent`,
    "dep says 42",
  ],
  [
    "a python venv",
    [python3],
    "$PYTHON -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'",
    "True",
  ],
  [
    "python multiprocessing",
    [python3],
    `cat > m.py <<'END'
import multiprocessing as m
def f(x): return x * x
if __name__ == "__main__":
    with m.Pool(2) as p: print(p.map(f, [1, 2, 3]))
END
    $PYTHON m.py`,
    "[1, 4, 9]",
  ],
  [
    "a pty",
    [python3],
    `$PYTHON -c 'import pty; pty.spawn(["sh", "-c", "test -t 0 && echo a terminal"])'`,
    /a terminal/,
  ],
  [
    "gcc and make",
    ["gcc", "make"],
    `
    mkdir c && cd c && echo 'int puts(const char*); int main(void) { puts("built"); return 0; }' > a.c
    printf 'a: a.c\\n\\tgcc -o a a.c\\n' > Makefile && make -s && ./a`,
    "built",
  ],
  ["tar", ["tar"], "mkdir t && echo in > t/f && tar czf t.tgz t && rm -r t && tar xzf t.tgz && cat t/f", "in"],
  ["sort with temporary files", ["sort"], "seq 200000 | sort -n -r -S 64K | tail -n 1", "1"],
  [
    "a server on localhost and curl",
    ["curl"],
    `
    node -e 'const s=require("http").createServer((q,r)=>r.end("served"));s.listen(0,"127.0.0.1",()=>require("fs").writeFileSync("port",""+s.address().port))' &
    until test -s port; do sleep 0.05; done; curl -s http://127.0.0.1:$(cat port)/; kill $!; wait`,
    "served",
  ],
  [
    "devices",
    [],
    "echo x > /dev/null && echo err > /dev/stderr && echo out | tee /dev/stdout && head -c 4 /dev/urandom | wc -c",
    "err\nout\nout\n4",
  ],
  [
    "shared memory and files between folders",
    [],
    "echo s > /dev/shm/ollie-$$ && rm /dev/shm/ollie-$$ && mkdir -p a b && echo m > a/f && mv a/f b/ && mv b/f $TMPDIR/f && mv $TMPDIR/f . && cat f",
    "m",
  ],
  ["temporary files", [], 'f=$(mktemp) && echo t > "$f" && cat "$f" && rm "$f"', "t"],
  [
    "users, hosts, processes",
    ["getent", "ps"],
    "getent passwd $(id -u) | wc -l && getent hosts localhost | wc -l && ps -o pid= -p $$ | wc -l",
    "1\n1\n1",
  ],
  ["scripts of one's own", [], "printf '#!/bin/sh\\necho mine\\n' > s && chmod +x s && ./s", "mine"],
];

const installed = (program: string): boolean =>
  program === python3 ? python !== undefined : spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

describe.each(["landlock", "bwrap"] as const)("in the stock profile, by %s", (wanted) => {
  const works = here[wanted];
  let p: Place;
  beforeAll(() => {
    p = place({ wanted, env: { HOME: homedir() } });
  });
  afterAll(() => p.close());

  for (const [what, needs, command, printed] of work) {
    const missing = works ? needs.filter((program) => !installed(program)) : [wanted];
    test.skipIf(missing.length > 0)(
      `${what}${missing.length > 0 ? ` (not installed: ${missing.join(" ")})` : ""}`,
      async () => {
        const { content, status } = await p.shell(`set -e; PYTHON=${python}\n${command}`, { env: { HOME: homedir() } });
        expect({ content, status }).toEqual({
          content:
            typeof printed === "string"
              ? expect.stringMatching(new RegExp(`^(Terminated\n)?${literal(printed)}$`))
              : expect.stringMatching(printed),
          status: "ok",
        });
      },
      60_000,
    );
  }

  test.skipIf(!works || !installed("ssh-agent"))("ssh-agent only where it is granted", async () => {
    const socket = `${p.base}/agent`;
    const agent = spawnSync("ssh-agent", ["-a", socket], { encoding: "utf8" });
    const pid = Number(/SSH_AGENT_PID=(\d+)/.exec(agent.stdout)?.[1]);
    try {
      p.env.SSH_AUTH_SOCK = socket;
      const list = "printenv SSH_AUTH_SOCK || echo none; ssh-add -l";
      expect((await p.shell(list)).content).toMatch(/none\n/);
      p.profile("agent", "ssh_agent: true\n");
      p.profile("default", "ssh_agent: true\n");
      expect((await p.shell(list)).content).toContain(`${socket}\nThe agent has no identities.`);
    } finally {
      p.profile("default", "");
      delete p.env.SSH_AUTH_SOCK;
      process.kill(pid);
    }
  });
});

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
