/**
 * What a confined tool tries to get more than it has, against a daemon with all parts: by each provider, as root and as a
 * normal user. The sandbox by itself is tried in test/plugins/sandbox/attack.test.ts. Says who ran, and what could not.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { here } from "../sandbox/gate.ts";
import { type Act, asEach, type Programs, programs, type Rig, start } from "./rig.ts";
import { at, bypass, forbidden } from "./rights.ts";

let p: Programs;
beforeAll(async () => {
  p = await programs();
});
afterAll(() => p.remove());

const providers = ["landlock", "bwrap"] as const;
const absent = providers.filter((provider) => !here[provider]);
if (absent.length > 0) console.warn(`attacks on the daemon: NOT TRIED by ${absent.join(", ")}`);

const key = "sk-attack";

asEach(", confined", (person) => {
  describe.skipIf(!here.landlock && !here.bwrap).each(providers.filter((one) => here[one]))("by %s", (provider) => {
    let rig: Rig;
    let cfg: string;
    const ids: Record<string, string> = {};

    /** Runs as the person, outside of any sandbox. */
    const outside = (script: string) => {
      const ids = process.getuid?.() === 0 ? { uid: person.uid, gid: person.uid } : {};
      const { status, stderr } = spawnSync("/bin/sh", ["-ec", script], { cwd: rig.dir, ...ids, encoding: "utf8" });
      expect([script, status, stderr]).toEqual([script, 0, ""]);
    };
    const began = async (dir?: string) => {
      const env = { OLLIE_ISOLATION: provider, OPENAI_API_KEY: `${key}-daemon` };
      rig = await start({ person, programs: p, env, early: "bin", ...(dir === undefined ? {} : { dir }) });
      expect(rig.said).toBe("ready");
    };
    /** What a prompt of the user's has an agent's tool do, through the whole loop. */
    const probed = async (agent: string) => {
      await rig.user(["write", `${at(agent)}/prompt`], { input: "probe" });
      await rig.user(["wait", at(agent)]);
      return rig.user(["read", `${at(agent)}/log`]);
    };

    beforeAll(async () => {
      await began();
      cfg = join(rig.dir, "home/.config/ollie");
      outside(`mkdir -p ${cfg}/memory ${cfg}/sandbox; echo OPENAI_API_KEY=${key}-file > ${cfg}/env
        echo 'unconfined: true' > ${cfg}/sandbox/free.yaml; echo s3cret > home/secret`);
      await rig.user(["write", "session/s1/env"], { input: `MY_TOKEN=${key}-session` });
      for (const agent of ["a1", "a2", "b1"]) ids[agent] = await rig.user(["read", `${at(agent)}/id`]);
      for (const agent of ["a1", "a2", "b1"]) expect(await rig.shell(agent, "echo up")).toBe("up");
      expect(await rig.user(["read", "session/s1/sandbox"])).toContain(
        `sandbox=on\nprovider=${provider}\nprofile=default`,
      );
    }, 120_000);
    afterAll(() => rig?.stop());

    test("by every socket that it finds and every name it is refused what is not its agent's", async () => {
      // A command of the user's runs meanwhile, and has a socket.
      void rig.user(["write", `${at("b1")}/prompt`], {
        input: `!for i in $(seq 300); do [ -e ${rig.dir}/go ] && break; sleep 0.1; done`,
      });
      for (let i = 0; i < 100 && rig.sockets("h").length === 0; i++) await sleep(50);
      const commands = rig.sockets("h").map((folder) => join(folder, "ollie"));
      // By a2's socket it may be a2, and that may rename itself.
      const acts = [...forbidden(rig).filter(([verb, path]) => verb !== "rename" || path !== at("a2")), ...bypass];
      const unames = [person.name, "root", "hook", "olliesrv", ids.a2 ?? "", ids.b1 ?? ""];
      const all = await rig.attemptAll("a1", { acts, within: rig.dir, unames });
      outside("touch go");
      const own = await rig.shell("a1", 'echo "$NAMESPACE"');
      const found = [...new Set(Object.keys(all).map((name) => name.split(" as ")[0]))];
      const main = rig.main.slice("unix!".length);
      expect(commands).toHaveLength(1);
      expect(found).toEqual(expect.arrayContaining([`${own}/ollie`, main, ...commands]));
      console.info(
        `attacks on the daemon: provider ${provider}, user ${person.uid}, ${found.length} sockets, ${acts.length} acts`,
      );
      const ofBypass = new Set(bypass.map(([, path]) => path));
      for (const [socket, { answered, more }] of Object.entries(all)) {
        const [path = ""] = socket.split(" as ");
        const wider = more.filter(([act, result]) => !(ofBypass.has(act?.[1] ?? "") && /not found/.test(result)));
        if (path === `${own}/ollie`) expect([socket, answered, wider]).toEqual([socket, acts.length, []]);
        else if (answered > 1) {
          // Inside one session there is no fence. In bwrap there is.
          expect([provider, socket]).toEqual(["landlock", expect.stringMatching(/\/a\//)]);
          expect([socket, wider.filter(([act]) => !act?.[1].startsWith("session/s1/agent/a"))]).toEqual([socket, []]);
        } else expect([socket, wider.filter(([, result]) => !result.startsWith("no way in: "))]).toEqual([socket, []]);
      }
    }, 120_000);

    test("no key is to be had, from a process, a file or the daemon", async () => {
      const reads = [
        "session/s1/env",
        "backends",
        "plugins/backends/config",
        `${at("a1")}/context`,
        `${at("a1")}/systemprompt`,
      ];
      const said = [
        await rig.shell(
          "a1",
          `env; set; tr '\\0' '\\n' < /proc/self/environ; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/task/*/environ 2>&1 | tr '\\0' '\\n'`,
        ),
        await rig.shell(
          "a1",
          `cat ${cfg}/env $HOME/.config/ollie/env ../home/.config/ollie/env; grep -rs ${key} ${rig.dir} /proc/self/environ`,
        ),
        ...(await rig.attempt("a1", { acts: reads.map((path): Act => ["read", path]) })),
      ].join("\n");
      expect(said).toContain("NAMESPACE=");
      expect(said.replaceAll(`grep -rs ${key}`, "").replaceAll(`grep\0-rs\0${key}`, "")).not.toContain(`${key}-`);
    }, 60_000);

    test("a link leads the daemon to no file outside: AGENTS.md, a prompt, a config", async () => {
      await rig.shell(
        "a1",
        `ln -s ${cfg}/env AGENTS.md; mkdir -p agents; ln -s ${cfg}/env agents/leak.json; mkfifo agents/pipe.json`,
      );
      const said = [];
      for (const agent of ["default", "leak", "pipe"])
        said.push(
          await rig.user(["rdwr", "session/s1/agent/new"], { input: `cwd=${rig.work} agent=${agent} name=l-${agent}` }),
        );
      expect(said[0]).toMatch(/^id=/);
      said.push(
        await rig.user(["read", "session/s1/agent/l-default/systemprompt"]),
        await rig.user(["read", "agents"]),
      );
      expect(said[3]).toContain("(not read: it leads out of its folder");
      expect(said[1]).toContain("broken JSON");
      expect(said[2]).toContain("is no regular file");
      expect(said.join("\n")).not.toContain(key.slice(0, 4));
      await rig.shell("a1", "rm -rf AGENTS.md agents");
    }, 60_000);

    test("a config that it makes gives nothing, wherever links put it, and its own changes nothing after a restart", async () => {
      const evil = JSON.stringify({
        hooks: { preTurn: "id" },
        prompt: [`touch ${rig.dir}/home/pwned`],
        sandbox: "free",
      });
      await rig.shell(
        "a1",
        `mkdir -p agents $TMPDIR/agents; for d in $TMPDIR ${cfg}/memory $TMPDIR/agents; do echo '${evil}' > $d/evil.json; done
        ln -s $TMPDIR/evil.json agents/tmp.json; ln -s ${cfg}/memory/evil.json agents/memory.json; echo '{}' > agents/own.json`,
      );
      const made = (name: string): Act => [
        "rdwr",
        "session/s1/agent/new",
        `cwd=${rig.work} agent=${name} name=m-${name}`,
      ];
      const results = await rig.attempt("a1", { acts: [made("tmp"), made("memory")] });
      await rig.user(["rdwr", "session/s1/agent/new"], { input: `cwd=${rig.work} agent=own name=a-own` });
      await rig.shell("a1", "mv agents old; ln -s $TMPDIR/agents agents");
      results.push(...(await rig.attempt("a1", { acts: [made("evil")] })));
      results.push(
        await rig.user(["rdwr", "session/s1/agent/new"], { input: `cwd=${rig.work} agent=evil name=u-evil` }),
      );
      for (const result of results)
        expect(result).toMatch(
          /config \w+ lies where agents write: it may not have hooks, sandbox, a prompt of commands/,
        );
      await rig.shell(
        "a1",
        `rm agents; mv old agents; echo '{"sandbox":"free"}' > agents/own.json; echo 'cat ~/secret' > probe.sh`,
      );
      await rig.user(["rdwr", "session/s1/ctl"], { input: "invalidate" });
      expect(await probed("a-own")).toMatch(
        /config own can not be read again: .*may not have sandbox(.|\n)*(denied|No such file)/,
      );
      await rig.stop("SIGKILL");
      await began(rig.dir);
      const log = await probed("a-own");
      expect(log).toMatch(/denied|No such file/);
      expect(log).not.toContain("s3cret");
      expect(existsSync(join(rig.dir, "home/pwned"))).toBe(false);
      await rig.shell("a1", "rm -rf agents");
    }, 60_000);

    test("what a project grants counts as the user trusted it, and a tool can trust nothing", async () => {
      const overlay = `${rig.work}/.ollie-sandbox.yaml`;
      const refused = /denied|No such file|Read-only/;
      const reaches = (agent = "a1") => rig.shell(agent, `cat ${rig.dir}/home/secret`);
      await rig.shell("a1", `echo 'unconfined: true' > ${overlay}`);
      expect(await reaches()).toMatch(refused);
      const line = "$(readlink -f .ollie-sandbox.yaml) $(sha256sum < .ollie-sandbox.yaml | cut -c1-64)";
      await rig.shell("a1", `echo "${line}" >> ${cfg}/trusted; mv .ollie-sandbox.yaml ${cfg}/trusted`);
      outside("rm -f work/.ollie-sandbox.yaml");
      expect(existsSync(join(cfg, "trusted"))).toBe(false);
      outside(
        `cd work; printf 'filesystem: { ro: [${rig.dir}/home/secret] }\\n' > .ollie-sandbox.yaml; echo "${line}" > ${cfg}/trusted`,
      );
      expect(await reaches()).toBe("s3cret");
      await rig.shell("a1", `echo '# more' >> ${overlay}`);
      expect(await reaches()).toMatch(refused);
      expect(await rig.user(["read", "session/s1/sandbox"])).toContain(`${overlay} does not count until you trust it`);
      await rig.shell("a1", `rm -f ${overlay}; mkfifo ${overlay}`);
      expect(await rig.shell("a1", `echo on; rm ${overlay}`)).toBe("on");
    }, 60_000);

    test("a working directory that it moves or swaps takes nobody out", async () => {
      await rig.shell("a1", "mkdir -p sub; echo in > sub/secret");
      const [made] = await rig.attempt("a1", {
        acts: [["rdwr", "session/s1/agent/new", `cwd=${rig.work}/sub agent=default name=a-sub`]],
      });
      expect(made).toMatch(/^ok /);
      expect(await rig.shell("a-sub", "cat secret")).toBe("in");
      await rig.shell("a1", `mv sub kept; ln -s ${rig.dir}/home sub`);
      expect(await rig.shell("a-sub", "cat secret")).toMatch(/was replaced by a link|does not exist any more/);
      await rig.shell("a1", "rm sub; mv kept sub");
      const flip = `const fs = require("fs"); const end = Date.now() + 4000;
        fs.symlinkSync(${JSON.stringify(join(rig.dir, "home"))}, "link");
        for (let n = 0; Date.now() < end; n++) {
          fs.renameSync("sub", "kept"); fs.renameSync("link", "sub");
          fs.renameSync("sub", "link"); fs.renameSync("kept", "sub");
        }`;
      const flipping = rig.shell("a1", `cat > flip.cjs <<'EOF'\n${flip}\nEOF\n'${process.execPath}' flip.cjs`);
      const said: string[] = [];
      for (const end = Date.now() + 4000; Date.now() < end; )
        said.push(await rig.shell("a-sub", `cat ./secret ${rig.dir}/home/secret`));
      expect(await flipping).not.toContain("rror");
      expect(said.length).toBeGreaterThan(0);
      expect(said.join("\n")).not.toContain("s3cret");
    }, 60_000);

    test("a program that it puts into PATH is run by no part of the daemon", async () => {
      await rig.shell(
        "a1",
        `mkdir -p bin; for name in bwrap landrun sh node env setpriv; do printf '#!/bin/sh\\ntouch ${rig.dir}/home/planted-%s\\n' $name > bin/$name; chmod +x bin/$name; done`,
      );
      await rig.user(["rdwr", "session/new"], { input: `name=s3 cwd=${rig.work} agent=default` });
      await rig.shell("b1", "true");
      expect(spawnSync("ls", [join(rig.dir, "home")], { encoding: "utf8" }).stdout).not.toContain("planted");
      await rig.shell("a1", "rm -r bin");
    }, 60_000);

    test("what it leaves in the saved sessions is nothing", async () => {
      const data = join(rig.dir, "home/.local/share/ollie");
      const said = await rig.shell(
        "a1",
        `ls ${data}; for f in ${data}/sessions/*; do echo x >> $f; done; echo x > ${data}/sessions/x.json; mv $OLLIE_TMPDIR ${data}/sessions/ 2>&1`,
      );
      expect(said).not.toContain("sessions\n");
      expect(spawnSync("ls", [join(data, "sessions")], { encoding: "utf8" }).stdout).not.toContain("x.json");
      for (const name of spawnSync("sh", ["-c", `ls ${data}/sessions/*.json`], { encoding: "utf8" })
        .stdout.trim()
        .split("\n"))
        expect(() => JSON.parse(readFileSync(name, "utf8"))).not.toThrow();
    }, 60_000);
  });
});
