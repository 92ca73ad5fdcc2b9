/** Faults that a chaos proxy adds to IMAP. All are off by default, and may be changed at any time. */
export interface Faults {
  /** Left out of every capability list: `IDLE`. `allowedCapabilities`, where given, leaves out all others. */
  hiddenCapabilities?: readonly string[]
  allowedCapabilities?: readonly string[]
  /** Commands, without their tag and in upper case, that are answered with `refusal` and never reach the server. */
  refusedCommands?: readonly RegExp[]
  /** Answer to a refused command; `BAD Unknown command` by default. */
  refusal?: string
  /** A command that never reaches the server: it is answered by a text for as long as the client reads. */
  flood?: { command: RegExp; text: string }
  /** Response codes taken out of answers: `COPYUID`. */
  hiddenCodes?: readonly string[]
  /** Cuts each new connection after a number of lines from the server, drawn for each between both ends. */
  cutAfterLines?: { from: number; to: number }
  /** Cuts after this number of bytes from the server, even in the middle of a literal. */
  cutAfterBytes?: { from: number; to: number }
  /** The number after which the cuts above stop. */
  cutsMax?: number
  /** Called before the words of a client go on to the server, which waits until it is done: a moment for others to act. */
  hold?: (words: string) => Promise<void> | undefined
  /** Accepts connections and never sends a byte; open ones fall silent. */
  isSilent?: boolean
  /** A connection falls silent for good, though it stays open, once it waits in IDLE. */
  isSilentAfterIdle?: boolean
  /** Greets with BYE and closes, as a server with too many connections. */
  byeAtGreeting?: string
  /** Delays all answers of the server. */
  latencyMs?: number
  bytesPerSecond?: number
  /**
   * Called for each command before the server has it, and again before the client has its tagged answer. `cut` closes
   * the connection at that moment.
   */
  judge?: (moment: Moment, command: string) => 'pass' | 'cut'
  /** Fault when the content (not the flags alone) of one of these UIDs is fetched. */
  poison?: { uids: readonly number[]; does: 'cut' | 'refuse' | 'omit' }
  /** Changes a line of the server (without CRLF, latin1), or drops it by null: for answers that lie. */
  rewrite?: (line: string) => string | null
}

/** `asked`: the server does not have the command yet. `answered`: it has done it, and the client has no answer. */
export type Moment = 'asked' | 'answered'

export type CommandFate =
  | { type: 'pass'; line: string }
  | { type: 'answer'; line: string }
  | { type: 'flood'; text: string }
  | { type: 'cut' }
  | { type: 'idle'; line: string }

const CONTENT = /BODY|ENVELOPE|RFC822(?!\.SIZE)|BINARY|PREVIEW/i

/** Decides the fate of a command line of the client. */
export function judgeCommand(line: string, faults: Faults): CommandFate {
  const [tag = '*', ...words] = line.split(' ')
  const command = words.join(' ')
  if (faults.refusedCommands?.some(pattern => pattern.test(command.toUpperCase()))) {
    return { type: 'answer', line: `${tag} ${faults.refusal ?? 'BAD Unknown command'}` }
  }
  if (faults.flood?.command.test(command)) return { type: 'flood', text: faults.flood.text }
  if (faults.poison) return judgePoison(line, tag, command, faults.poison)
  if (/^IDLE$/i.test(command)) return { type: 'idle', line }
  return { type: 'pass', line }
}

function judgePoison(
  line: string,
  tag: string,
  command: string,
  poison: NonNullable<Faults['poison']>,
): CommandFate {
  const [, start = '', set = '', items = ''] = /^(UID FETCH )(\S+)( .*)$/i.exec(command) ?? []
  const asked = CONTENT.test(items) ? poison.uids.filter(uid => holds(set, uid)) : []
  if (asked.length === 0) return { type: 'pass', line }
  if (poison.does === 'cut') return { type: 'cut' }
  if (poison.does === 'refuse')
    return { type: 'answer', line: `${tag} NO [SERVERBUG] Internal error occurred` }
  const left = asked.reduce(withoutUid, set)
  if (left === '') return { type: 'answer', line: `${tag} OK Fetch completed.` }
  return { type: 'pass', line: `${tag} ${start}${left}${items}` }
}

function parseRange(range: string): [from: number, to: number] {
  const [from = 0, to = from] = range.split(':').map(end => (end === '*' ? 0xffffffff : Number(end)))
  return from <= to ? [from, to] : [to, from]
}

function holds(set: string, uid: number) {
  return set.split(',').some(range => {
    const [from, to] = parseRange(range)
    return from <= uid && uid <= to
  })
}

function withoutUid(set: string, uid: number) {
  const ranges = set.split(',').flatMap((range): string[] => {
    const [from, to] = parseRange(range)
    if (uid < from || uid > to) return [range]
    return [...(from < uid ? [`${from}:${uid - 1}`] : []), ...(uid < to ? [`${uid + 1}:${to}`] : [])]
  })
  return ranges.join(',').replaceAll('4294967295', '*')
}

/** A line of the server as the client shall see it; null where it shall not. */
export function changeAnswer(line: string, faults: Faults): string | null {
  let changed = line
  if (faults.hiddenCapabilities || faults.allowedCapabilities) {
    changed = changed
      .replace(
        /^(\* CAPABILITY )(.*)$/i,
        (_, start: string, list: string) => start + filterCapabilities(list, faults),
      )
      .replace(
        /\[CAPABILITY ([^\]]*)\]/i,
        (_, list: string) => `[CAPABILITY ${filterCapabilities(list, faults)}]`,
      )
  }
  for (const code of faults.hiddenCodes ?? []) {
    changed = changed.replace(new RegExp(`\\[${code}[^\\]]*\\] ?`, 'i'), '')
  }
  return faults.rewrite ? faults.rewrite(changed) : changed
}

function filterCapabilities(list: string, { hiddenCapabilities = [], allowedCapabilities }: Faults) {
  const isShown = (name: string) =>
    !hiddenCapabilities.includes(name) && (allowedCapabilities?.includes(name) ?? true)
  return list
    .split(' ')
    .filter(name => isShown(name.toUpperCase()))
    .join(' ')
}

/** Makes a good server one of 1996: RFC 3501 and nothing else, as in its capability line. */
export const BARE_SERVER: Faults = {
  allowedCapabilities: ['IMAP4REV1'],
  refusedCommands: [
    /^(IDLE|ENABLE|NAMESPACE|ID|UNSELECT|MOVE|UID MOVE|UID EXPUNGE|NOTIFY|SORT|UID SORT|THREAD|UID THREAD)\b/,
    /^(GETMETADATA|SETMETADATA|COMPRESS|XLIST|LSUB \(|LIST \(|AUTHENTICATE|STARTTLS)\b/,
    /^LIST .* RETURN \(/,
    /^(SELECT|EXAMINE) .* \(/,
    /^(UID )?SEARCH RETURN\b/,
    /^(UID )?FETCH .*\b(MODSEQ|CHANGEDSINCE|PREVIEW|SAVEDATE|EMAILID|BINARY)\b/,
    /^(UID )?STORE .*\bUNCHANGEDSINCE\b/,
    /^STATUS .*\b(HIGHESTMODSEQ|SIZE|DELETED)\b/,
    // A literal that does not wait for the server (LITERAL+).
    /\{\d+[+-]\}$/,
  ],
  hiddenCodes: ['COPYUID', 'APPENDUID', 'HIGHESTMODSEQ', 'NOMODSEQ', 'CLOSED'],
}
