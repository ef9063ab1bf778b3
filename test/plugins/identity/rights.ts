/** The rights table, as what an agent tries at a socket. In a rig: a1 asks, a2 is its kin, b1 is of another session. */
import type { Act, Rig } from "./rig.ts";

export const at = (agent: string): string => `session/${agent.startsWith("b") ? "s2" : "s1"}/agent/${agent}`;

/** Variables by which programs are made to run others, or to read what others wrote. */
const steering = [
  ...["PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "NODE_OPTIONS", "BASH_ENV", "ENV", "PYTHONPATH", "PERL5OPT", "IFS"],
  ...["GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "GIT_EXEC_PATH", "OLLIE_TOOLS_PATH", "OLLIE_CFG_PATH", "OLLIE_ISOLATION"],
];

const opened = (agent: string, mode: string, ...names: string[]): Act[] =>
  names.map((name): Act => ["open", `${at(agent)}/${name}`, mode]);
const verbs = (agent: string, ...lines: string[]): Act[] =>
  lines.map((line): Act => ["rdwr", `${at(agent)}/ctl`, line]);

/** What a1 may, and leaves as it was. */
export const allowed: Act[] = [
  ...opened("a1", "r", "prompt", "queue", "feed", "chat", "chat.raw", "log", "state", "statewait", "cfg"),
  ...opened("a1", "r", "tools", "stats", "plan", "context", "systemprompt", "id", "name"),
  ...opened("a1", "w", "plan", "tools", "name", "statewait"),
  ...verbs("a1", "tools", "models", "help", "tool_load file_grep", "tool_unload file_grep"),
  ...opened("a2", "r", "chat", "chat.raw", "log", "state", "statewait", "stats", "plan", "id", "name", "queue"),
  ...opened("a2", "w", "prompt", "fifo", "inject", "feed"),
  ...opened("b1", "r", "id", "name", "state", "plan"),
  ...["help", "agents", "tools", "models", "backends", "session/idx", "session/s1/env", "session/s1/sandbox"].map(
    (name): Act => ["read", name],
  ),
  ["open", "eventwait", "r"],
  ...["complete", "generate", "route", "session/new"].map((name): Act => ["open", name, "rw"]),
];

/** What no tool of a1's may, by whatever name it calls itself. */
export const forbidden = ({ work, dir }: Rig): Act[] => [
  ...opened("a1", "r", "fifo"),
  ...opened("a1", "w", "prompt", "fifo", "inject", "feed", "cfg", "queue"),
  ...verbs("a1", "stop", "pause", "resume", "clear", "kill", "inject x", "queue x", "agent default", "model x"),
  ...verbs("a1", "cwd /", `cwd ${work}/..`, "backend script", "systemprompt", "name x"),
  ["write", `${at("a1")}/cfg`, `cwd=${dir}`],
  ["remove", at("a1")],
  // kin
  ...opened("a2", "w", "cfg", "plan", "name", "tools", "queue"),
  ...opened("a2", "r", "cfg", "context", "systemprompt", "prompt", "fifo", "feed", "tools"),
  ...verbs("a2", "stop", "kill", "tools", "cwd /"),
  ["remove", at("a2")],
  ["rename", at("a2"), "mine"],
  // other agents
  ...opened("b1", "r", "chat", "chat.raw", "log", "stats", "statewait", "queue", "context", "systemprompt", "cfg"),
  ...opened("b1", "w", "prompt", "fifo", "inject", "feed", "plan", "name", "cfg", "tools"),
  ...verbs("b1", "kill", "stop", "tools"),
  ["remove", at("b1")],
  ["read", "session/s2/env"],
  ["read", "session/s2/sandbox"],
  ["rdwr", "session/s2/agent/new", `cwd=${work}`],
  // the session, and what it may do
  ...steering.map((name): Act => ["write", "session/s1/env", `${name}=${work}`]),
  ...steering.map((name): Act => ["rdwr", "session/new", `env.${name}=${work} cwd=${work} agent=default`]),
  ["write", "session/s1/name", "mine"],
  ["write", "session/s1/sandbox", "sandbox=off"],
  ...["kill", "save", "invalidate", "pause", "resume"].map((verb): Act => ["rdwr", "session/s1/ctl", verb]),
  ["remove", "session/s1"],
  ["remove", "session/s2"],
  ["rename", "session/s2", "mine"],
  ...["/", `${work}/..`, dir].map((cwd): Act => ["rdwr", "session/new", `cwd=${cwd} agent=default`]),
  ["rdwr", "session/s1/agent/new", "cwd=/ agent=default"],
  // the server
  ...["kill", "kill s2", "invalidate", "help", "plugin disable identity"].map((verb): Act => ["rdwr", "ctl", verb]),
  ...["idx", "identity/config", "identity/status", "identity/error"].map((name): Act => ["read", `plugins/${name}`]),
  ["read", "usage"],
  ["rdwr", "run", "{}"],
  ["write", "busy", "1"],
];

/** The bypass is a plugin to come: until then there is nothing to be had. */
export const bypass: Act[] = [
  ["write", "session/s1/bypass", "allow shell"],
  ["read", "bypass/policy"],
  ["write", "bypass/policy", "allow shell"],
  ["write", "bypass/pending/1", "approve"],
];

/** Those of `acts` that were not refused. */
export const granted = (acts: readonly Act[], results: readonly string[]): [Act | undefined, string][] =>
  results.flatMap((result, i) =>
    /permission denied|may not|agents make no|is outside of its creator's/.test(result) ? [] : [[acts[i], result]],
  );
