/** What each message that names a fid does: walk(5), open(5), read(5), clunk(5), remove(5), stat(5). */
import { NineError, Rerror } from "../errors.ts";
import { Few } from "../few.ts";
import type { Answer, Tree, Vnode } from "../tree/index.ts";
import { type MsgOf, NOFID, OEXEC, ORCLOSE, OREAD, OTRUNC, OWRITE, sizeOf, type Tmsg } from "./codec.ts";
import { directoryRead, type Fid, isOpen, newFid, qidOf, rstatOf, statOf } from "./fid.ts";
import { limits, overLimit } from "./limits.ts";
import type { Numbered } from "./numbered.ts";
import { block, type Home, newLine, type Request } from "./requests.ts";
import { wstatName } from "./wstat.ts";

export type FidMsg = Exclude<Tmsg, { type: "Tversion" | "Tauth" | "Tattach" | "Tflush" }>;

/** A connection as its messages see it. */
export interface Session extends Home {
  tree(): Tree;
  readonly fids: Numbered<Fid>;
  /** 0: no version was negotiated. */
  msize: number;
}

/** Answers now, or later through `s.reply`. Throws NineError for the Rerror. */
export function perform(s: Session, msg: FidMsg, fid: Fid, request: Request): void {
  switch (msg.type) {
    case "Twalk":
      return walk(s, msg, fid, request);
    case "Topen":
      return open(s, msg, fid, request);
    case "Tcreate":
      return create(msg, fid);
    case "Tread":
      return read(s, msg, fid, request);
    case "Twrite":
      return write(msg, fid, request);
    case "Tclunk":
      return clunk(fid, request);
    case "Tremove":
      return remove(s, fid, request);
    case "Tstat":
      return stat(s, fid, request);
    case "Twstat":
      return wstat(s, msg, fid, request);
  }
}

function walk(s: Session, msg: MsgOf<"Twalk">, fid: Fid, request: Request): void {
  const { wname, newfid } = msg;
  if (isOpen(fid)) throw new NineError(Rerror.open);
  if (newfid !== msg.fid) {
    if (s.fids.get(newfid) || newfid === NOFID) throw new NineError(Rerror.dupFid);
    if (s.fids.size >= limits.fids) throw overLimit("fids");
  }
  let node = fid.node;
  const wqid = [];
  for (const name of wname) {
    try {
      node = step(s.tree(), node, name, fid);
    } catch (error) {
      if (wqid.length === 0) throw error;
      break;
    }
    wqid.push(qidOf(s.tree(), node, fid.principal));
  }
  if (wqid.length === wname.length) {
    if (newfid === msg.fid) fid.node = node;
    else s.fids.set(newfid, newFid(node, fid.principal));
  }
  s.reply(request, { type: "Rwalk", tag: request.tag, wqid });
}

function step(tree: Tree, node: Vnode, name: string, { principal }: Fid): Vnode {
  const next = isName(name) || name === ".." ? tree.step(node, name, principal) : undefined;
  if (!next) throw new NineError(Rerror.notFound);
  return next;
}

const isName = (name: string): boolean => name !== "" && name !== "." && name !== ".." && !name.includes("/");

function open(s: Session, msg: MsgOf<"Topen">, fid: Fid, request: Request): void {
  if (isOpen(fid)) throw new NineError(Rerror.open);
  const { node, principal } = fid;
  const tree = s.tree();
  const kind = msg.mode & 3;
  const trunc = (msg.mode & OTRUNC) !== 0;
  if (msg.mode & ~(3 | OTRUNC | ORCLOSE)) throw new NineError(Rerror.badMode);
  if (node.spec.kind === "dir") {
    if ((kind !== OREAD && kind !== OEXEC) || trunc) throw new NineError(Rerror.isDir);
    if (msg.mode & ORCLOSE) throw new NineError(Rerror.perm);
    tree.mayList(node, principal);
    fid.directory = directoryRead(tree, node, principal);
  } else {
    // No file here is a program, and none can be removed.
    if (kind === OEXEC || msg.mode & ORCLOSE) throw new NineError(Rerror.perm);
    fid.file = tree.open(node, principal, { read: kind !== OWRITE, write: kind !== OREAD, trunc });
  }
  const qid = qidOf(tree, node, principal);
  s.reply(request, { type: "Ropen", tag: request.tag, qid, iounit: s.msize - limits.header });
}

/** Nothing is created so: session/new and agent/new take requests. The texts say what else is wrong first. */
function create({ name }: MsgOf<"Tcreate">, fid: Fid): never {
  if (isOpen(fid)) throw new NineError(Rerror.open);
  if (fid.node.spec.kind !== "dir") throw new NineError(Rerror.notDir);
  throw new NineError(isName(name) ? Rerror.perm : Rerror.badName);
}

function read(s: Session, msg: MsgOf<"Tread">, fid: Fid, request: Request): void {
  const count = Math.min(msg.count, s.msize - limits.readHeader);
  if (fid.directory) {
    const data = fid.directory.read(msg.offset, count);
    return s.reply(request, { type: "Rread", tag: request.tag, data });
  }
  if (!fid.file) throw new NineError(Rerror.badUse);
  fid.file.read(msg.offset, count, request);
  if (request.done) return;
  fid.reads ??= new Few();
  fid.reads.add(request);
  request.reading = fid;
}

function write(msg: MsgOf<"Twrite">, fid: Fid, request: Request): void {
  if (!fid.file) throw new NineError(Rerror.badUse);
  fid.file.write(msg.data, request, msg.offset);
  wait(fid, request);
}

/** Later messages on the fid wait for this one, if it is not answered yet. */
function wait(fid: Fid, request: Request): void {
  if (request.done) return;
  fid.line ??= newLine();
  block(fid.line, request);
}

/** `then`, when the fid's file has closed well: by itself that is the reply. */
function clunk(fid: Fid, request: Request, then: Answer<void> = request): void {
  fid.reads?.empty((one) => {
    one.cancel(Rerror.clunked);
    one.fail(Rerror.clunked);
  });
  if (fid.file) fid.file.close(true, then);
  else then.ok();
}

function remove(s: Session, fid: Fid, request: Request): void {
  clunk(fid, request, {
    ok: () => s.tree().remove(fid.node, fid.principal, request),
    fail: (error) => request.fail(error),
  });
}

function stat(s: Session, fid: Fid, request: Request): void {
  const body = rstatOf(s.tree(), fid.node, fid.principal, fid.file?.length());
  const reply = { type: "encoded", of: "Rstat", tag: request.tag, body } as const;
  if (sizeOf(reply) > s.msize) throw new NineError(`stat is over msize ${s.msize}`);
  s.reply(request, reply);
}

function wstat(s: Session, msg: MsgOf<"Twstat">, fid: Fid, request: Request): void {
  const { node, principal } = fid;
  const now = statOf(s.tree(), node, principal, fid.file?.length());
  const name = wstatName(msg.stat, now, principal.name, () => s.tree().mayWrite(node, principal));
  if (name === undefined) return request.ok();
  if (!isName(name)) throw new NineError(Rerror.badName);
  request.fixed = true;
  s.tree().rename(node, name, principal, request);
  wait(fid, request);
}
