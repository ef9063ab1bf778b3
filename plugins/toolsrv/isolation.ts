/** What each call is confined to, and what is said about it. Nothing runs unconfined that was not meant to. */
import { dirname } from "node:path";
import { messageOf } from "#core";
import {
  type PlaceholderContext,
  type Profile,
  profileStore,
  type Rules,
  resolveRules,
  type Sight,
  sight,
  unconfinedRules,
  widerThan,
} from "#plugins/sandbox";
import { lostBelow, stillOpen } from "#plugins/sandbox-landlock";
import { isCredential } from "#plugins/sessions";
import type { Found } from "./provider.ts";

export interface IsolationOptions {
  /** Asked once, when it is first needed. */
  find: () => Promise<Found>;
  /** Name of the profile of calls that name none. */
  profile: string;
  env: NodeJS.ProcessEnv;
  toolDirs: () => string[];
}

export interface Confinable {
  cwd: string;
  /** The session's folder for temporary files. */
  tmp: string;
  /** Profiles, each no wider than the one before; empty texts stand for the usual one at first, then for nothing. */
  profiles?: readonly string[] | undefined;
  /** Profile of this call alone; no wider either. */
  flag?: string | undefined;
  /** Folder of the agent's socket. */
  namespace?: string | undefined;
}

export interface Confinement {
  found: Found;
  rules: Rules;
  /** Variables of the daemon that the profile lets pass. */
  env: Record<string, string>;
}

export interface Isolation {
  found(): Promise<Found>;
  /** Rejects with one sentence where the call must not run. */
  confine(call: Confinable): Promise<Confinement>;
  /** Key=value lines; `last`: what the session's last call had. */
  describe(last: Confinement | undefined): Promise<string>;
}

export function isolation({ find, profile: usual, env, toolDirs }: IsolationOptions): Isolation {
  const profiles = profileStore(env);
  let finding: Promise<Found> | undefined;
  const found = () => {
    finding ??= find().catch((error) => {
      finding = undefined;
      throw new Error(`what confines tools can not be tried: ${messageOf(error)}`);
    });
    return finding;
  };

  /** What calls were confined to, the longest unused first: it holds as long as all that it was made from does. */
  const kept = new Map<string, { seen: Sight; confinement: Confinement }>();

  const load = async (name: string, context: PlaceholderContext): Promise<{ profile: Profile; rules: Rules }> => {
    const { profile, notes } = await profiles.load(name, context.cwd, context.sight);
    if (profile.unconfined)
      return { profile, rules: unconfinedRules(name, [...notes, "the profile says unconfined: true"]) };
    const rules = resolveRules(name, profile, context);
    return { profile, rules: { ...rules, notes: [...notes, ...rules.notes] } };
  };

  const resolve = async (
    here: Found,
    { cwd, tmp, profiles: named = [], flag, namespace }: Confinable,
    seen: Sight,
  ): Promise<Confinement> => {
    const context = { cwd, tmp, toolDirs: toolDirs(), env, sight: seen };
    const [first, ...others] = named;
    let { profile, rules } = await load(first || usual, context);
    for (const name of [...others, flag ?? ""]) {
      if (name === "" || name === rules.profile) continue;
      const narrow = await load(name, context);
      const fault = widerThan(narrow.rules, rules);
      if (fault !== undefined)
        throw new Error(`sandbox: profile "${name}" is wider than "${rules.profile}", which bounds it: ${fault}`);
      const names = new Set(profile.env);
      profile = { ...narrow.profile, env: narrow.profile.env.filter((name) => names.has(name)) };
      rules = narrow.rules;
    }
    if (here.provider === undefined && !rules.unconfined) {
      if (!rules.bestEffort)
        throw new Error(`tools do not run here: nothing can confine them (${here.why}); ${optOut}`);
      rules = unconfinedRules(rules.profile, [...rules.notes, `nothing confines it: ${here.why}`]);
    }
    // Where each agent has a tool server of its own it sees its own socket alone; else they share a domain, and one rule.
    const socket = namespace && (here.provider === "bwrap" ? namespace : dirname(namespace));
    if (socket !== undefined) rules = { ...rules, unix: [...rules.unix, socket] };
    return { found: here, rules, env: passed(profile, env) };
  };

  return {
    found,
    async confine(call) {
      const here = await found();
      if (call.flag !== undefined && (here.provider === "none" || here.provider === undefined))
        throw new Error("sandbox: nothing confines tools here, leave it out");
      if (here.provider === "none") return { found: here, rules: unconfinedRules("none", []), env: {} };
      const key = JSON.stringify([call, toolDirs()]);
      const known = kept.get(key);
      kept.delete(key);
      const seen = known?.seen.same() ? known.seen : sight();
      const confinement = known?.seen === seen ? known.confinement : await resolve(here, call, seen);
      kept.set(key, { seen, confinement });
      for (const [oldest] of kept) if (kept.size > most) kept.delete(oldest);
      return confinement;
    },
    async describe(last) {
      const here = await found();
      const values = last ? linesOf(last) : expected(here, usual);
      return values.map(([key, value]) => `${key}=${value}\n`).join("");
    },
  };
}

/** Confinements that are kept, one for each agent in a folder. */
const most = 256;

const optOut =
  "start the daemon with OLLIE_ISOLATION=none (npm start -- --unsandboxed), or use a profile with unconfined: true";

function passed(profile: Profile, env: NodeJS.ProcessEnv): Record<string, string> {
  const names = [...profile.env, ...(profile.sshAgent ? ["SSH_AUTH_SOCK"] : [])];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = env[name];
      return value === undefined || isCredential(name) ? [] : [[name, value]];
    }),
  );
}

type Lines = [string, string][];

function expected(found: Found, profile: string): Lines {
  if (found.provider === "none") return off(found, "none");
  if (found.provider === undefined)
    return [
      ["sandbox", "missing"],
      ["provider", "missing"],
      ["profile", profile],
      ["reason", `${found.why}: tools are refused, unless the profile says best_effort or unconfined`],
    ];
  return [
    ["sandbox", "on"],
    ["provider", found.provider],
    ["profile", profile],
    ["reason", found.why],
    ["enforced", "not known before the first tool runs"],
  ];
}

const off = (found: Found, profile: string, notes: string[] = []): Lines => [
  ["sandbox", "off"],
  ["provider", "off"],
  ["profile", profile],
  ["reason", notes.join("; ") || found.why],
  ["enforced", "nothing: tools run with your rights"],
];

function linesOf({ found, rules }: Confinement): Lines {
  if (rules.unconfined) return off(found, rules.profile, rules.notes);
  const { network } = rules;
  const lost = lostHere(found, rules);
  const writable = rules.grants.filter(({ mode }) => mode.startsWith("rw")).map(({ path }) => path);
  return [
    ["sandbox", lost.length > 0 ? "partial" : "on"],
    ["provider", found.provider ?? ""],
    ["profile", rules.profile],
    ["reason", found.why],
    ["write", writable.join(" ")],
    [
      "network",
      typeof network === "string"
        ? network
        : `connect ${network.connect.join(" ") || "none"}, bind ${network.bind.join(" ") || "none"}`,
    ],
    ["enforced", enforcedBy(found)],
    ...lost.map((what): [string, string] => ["not_enforced", what]),
    ...openWith(found, rules).map((what): [string, string] => ["open", what]),
    ...[...rules.warnings, ...rules.notes].map((note): [string, string] => ["note", note]),
  ];
}

function enforcedBy({ provider, landlock }: Found): string {
  const inside = landlock > 0 ? `files, TCP, signals (Landlock ${landlock}), system calls (seccomp)` : "";
  if (provider === "landlock") return inside;
  if (provider === "landrun") return "files and TCP (landrun)";
  return ["files that are not granted are not there, other processes neither (bwrap)", inside]
    .filter(Boolean)
    .join("; ");
}

/** What the rules ask for and nothing here does. */
export function lostHere({ provider, landlock }: Found, rules: Rules): string[] {
  if (rules.unconfined) return ["everything"];
  if (provider === "landlock") return lostBelow(landlock, rules);
  if (provider === "landrun") return rules.network === "none" ? ["UDP is not confined"] : [];
  if (landlock > 0) return lostBelow(landlock, rules);
  return typeof rules.network === "object" ? ["TCP ports are not confined"] : [];
}

function openWith({ provider, landlock }: Found, rules: Rules): string[] {
  if (provider === "bwrap") return [];
  return [...stillOpen(landlock, rules), ...(provider === "landrun" ? ["system calls are not filtered"] : [])];
}

/** What is added to a session's first result; undefined: all is enforced, and there is nothing to explain. */
export function firstNote({ found, rules }: Confinement): string | undefined {
  if (rules.unconfined) return unsandboxed;
  const lost = lostHere(found, rules);
  const told = [...(lost.length > 0 ? [`partial — ${lost.join("; ")}`] : []), ...rules.warnings];
  return told.length === 0 ? undefined : `[sandbox: ${told.join("; ")}]`;
}

/** Told once a session, with its first result: docs/tools.md. */
export const unsandboxed = "[sandbox: off — tools run with your rights]";
