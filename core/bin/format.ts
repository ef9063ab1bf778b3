/** How `ollie-9p` prints directory entries: as plan9port's 9p does. */
import { DMAPPEND, DMDIR, DMEXCL, type Stat } from "../ninep/codec.ts";

const HALFYEAR = 182 * 24 * 3600;

/** `d-rwxr-xr-x`: kind, exclusive use, rights of owner, group and others. */
function modeText(mode: number): string {
  const kind = mode & DMDIR ? "d" : mode & DMAPPEND ? "a" : "-";
  const rights = [6, 3, 0].map((shift) => {
    const bits = mode >> shift;
    return `${bits & 4 ? "r" : "-"}${bits & 2 ? "w" : "-"}${bits & 1 ? "x" : "-"}`;
  });
  return `${kind}${mode & DMEXCL ? "l" : "-"}${rights.join("")}`;
}

/** `Mar  9 14:05`, or with the year in place of the hour when it is half a year away. */
function timeText(seconds: number, now: number): string {
  const [, month, day, year, clock] = new Date(seconds * 1000).toString().split(" ") as [
    string,
    string,
    string,
    string,
    string,
  ];
  const last = Math.abs(now - seconds) > HALFYEAR ? ` ${year}` : clock.slice(0, 5);
  return `${month} ${day.replace(/^0/, " ")} ${last}`;
}

/** Lines of `ls -l`: mode, owner, group, length, time of change, name; columns aligned. `now` in seconds. */
export function longList(entries: { stat: Stat; name: string }[], now: number): string {
  const width = (of: (stat: Stat) => string): number => Math.max(0, ...entries.map(({ stat }) => of(stat).length));
  const uids = width((s) => s.uid);
  const gids = width((s) => s.gid);
  const lengths = width((s) => String(s.length));
  return entries
    .map(({ stat, name }) => {
      const owner = `${stat.uid.padEnd(uids)} ${stat.gid.padEnd(gids)}`;
      const size = String(stat.length).padStart(lengths);
      return `${modeText(stat.mode)} ${owner} ${size} ${timeText(stat.mtime, now)} ${name}\n`;
    })
    .join("");
}

/** One line with every field of a stat. */
export function statLine(s: Stat): string {
  const names = [s.name, s.uid, s.gid, s.muid].map((text) => `'${text.replaceAll("'", "''")}'`).join(" ");
  const kind = `${s.qid.type & 0x80 ? "d" : ""}${s.qid.type & 0x40 ? "a" : ""}${s.qid.type & 0x20 ? "l" : ""}`;
  const qid = `q (${s.qid.path.toString(16).padStart(16, "0")} ${s.qid.vers} ${kind})`;
  const mode = `m 0${s.mode.toString(8)}`;
  return `${names} ${qid} ${mode} at ${s.atime} mt ${s.mtime} l ${s.length} t ${s.type} d ${s.dev}\n`;
}
