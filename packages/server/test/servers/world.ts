import { encodeMailboxName, quote } from './imap-values.ts'
import type { MailServer, TestUser } from './mail-server.ts'
import { openWitness, type Reply, type Witness } from './witness.ts'

/** Messages and bytes that go into one APPEND (RFC 3502). */
const APPEND_MESSAGES_MAX = 500
const APPEND_BYTES_MAX = 8_000_000

export interface Delivery {
  raw: Buffer | string
  flags?: readonly string[]
  internalDate?: Date
}

/**
 * Another client of a user's mailbox. Mailboxes are named by their whole path, `/`-separated on every server:
 * `INBOX/Projects` on a server that keeps all under INBOX; `at('Projects')` gives what fits the server.
 */
export interface World extends AsyncDisposable {
  at(name: string): string
  /** Appends messages and returns their UIDs, in order. */
  deliver(messages: readonly Delivery[] | Delivery, mailbox?: string): Promise<number[]>
  /** Adds flags (`\Seen`) and keywords (`work`). */
  flag(mailbox: string, uids: readonly number[], ...flags: string[]): Promise<void>
  unflag(mailbox: string, uids: readonly number[], ...flags: string[]): Promise<void>
  /** Returns the UIDs in the target, in the order of `uids` ascending. */
  move(mailbox: string, uids: readonly number[], target: string): Promise<number[]>
  copy(mailbox: string, uids: readonly number[], target: string): Promise<number[]>
  expunge(mailbox: string, uids: readonly number[]): Promise<void>
  createMailbox(mailbox: string): Promise<void>
  renameMailbox(mailbox: string, to: string): Promise<void>
  deleteMailbox(mailbox: string): Promise<void>
  /** Gives a mailbox another UIDVALIDITY; on Cyrus its messages get other UIDs as well, and INBOX cannot be renumbered. */
  renumber(mailbox: string): Promise<void>
  /** UIDs of a mailbox, ascending. */
  uids(mailbox: string): Promise<number[]>
  /** Any other command, for what has no method here. */
  readonly witness: Witness
}

export async function openWorld(server: MailServer, user: TestUser): Promise<World> {
  const witness = await openWitness(server, user)
  const name = (path: string) => quote(encodeMailboxName(path.replaceAll('/', server.separator)))
  let selected: string | null = null
  const select = async (mailbox: string) => {
    if (selected === mailbox) return
    // Forgotten first: a refused SELECT leaves nothing selected.
    selected = null
    await witness.command(`SELECT ${name(mailbox)}`)
    selected = mailbox
  }
  const unselect = async () => {
    if (selected !== null) await witness.command('UNSELECT')
    selected = null
  }
  /** Runs `command SET rest` on the UIDs of a mailbox. */
  const onUids = async (mailbox: string, command: string, uids: readonly number[], rest = '') => {
    await select(mailbox)
    return witness.command(`${command} ${formatUidSet(uids)}${rest}`)
  }

  return {
    witness,
    at: path => (server.prefix === '' || path === 'INBOX' ? path : `INBOX/${path}`),
    async deliver(messages, mailbox = 'INBOX') {
      const uids: number[] = []
      for (const batch of cutIntoBatches(Array.isArray(messages) ? messages : [messages])) {
        const reply = await witness.command(`APPEND ${name(mailbox)}`, ...batch.flatMap(formatDelivery))
        uids.push(...uidsOf(reply, 'APPENDUID'))
      }
      return uids
    },
    async flag(mailbox, uids, ...flags) {
      await onUids(mailbox, 'UID STORE', uids, ` +FLAGS.SILENT (${flags.join(' ')})`)
    },
    async unflag(mailbox, uids, ...flags) {
      await onUids(mailbox, 'UID STORE', uids, ` -FLAGS.SILENT (${flags.join(' ')})`)
    },
    move: async (mailbox, uids, target) =>
      uidsOf(await onUids(mailbox, 'UID MOVE', uids, ` ${name(target)}`), 'COPYUID'),
    copy: async (mailbox, uids, target) =>
      uidsOf(await onUids(mailbox, 'UID COPY', uids, ` ${name(target)}`), 'COPYUID'),
    async expunge(mailbox, uids) {
      await onUids(mailbox, 'UID STORE', uids, ' +FLAGS.SILENT (\\Deleted)')
      await onUids(mailbox, 'UID EXPUNGE', uids)
    },
    async createMailbox(mailbox) {
      await witness.command(`CREATE ${name(mailbox)}`)
      await witness.command(`SUBSCRIBE ${name(mailbox)}`)
    },
    async renameMailbox(mailbox, to) {
      await unselect()
      await witness.command(`RENAME ${name(mailbox)} ${name(to)}`)
    },
    async deleteMailbox(mailbox) {
      await unselect()
      await witness.command(`DELETE ${name(mailbox)}`)
    },
    async renumber(mailbox) {
      await unselect()
      await server.renumber(user, mailbox.replaceAll('/', server.separator))
    },
    async uids(mailbox) {
      await select(mailbox)
      const { untagged } = await witness.command('UID SEARCH ALL')
      const found = untagged.find(([kind]) => kind === 'SEARCH') ?? []
      return found
        .slice(1)
        .map(Number)
        .toSorted((a, b) => a - b)
    },
    [Symbol.asyncDispose]: () => witness[Symbol.asyncDispose](),
  }
}

function* cutIntoBatches(messages: readonly Delivery[]) {
  let batch: Delivery[] = []
  let bytes = 0
  for (const message of messages) {
    batch.push(message)
    bytes += message.raw.length
    if (batch.length < APPEND_MESSAGES_MAX && bytes < APPEND_BYTES_MAX) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}

function formatDelivery({ raw, flags = [], internalDate }: Delivery): Array<string | Buffer> {
  const date = internalDate ? ` ${quote(formatInternalDate(internalDate))}` : ''
  return [` (${flags.join(' ')})${date} `, Buffer.from(raw)]
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** date-time of RFC 9051 section 9, in UTC. */
function formatInternalDate(date: Date) {
  const day = String(date.getUTCDate()).padStart(2, ' ')
  return `${day}-${MONTHS[date.getUTCMonth()]}-${date.getUTCFullYear()} ${date.toISOString().slice(11, 19)} +0000`
}

/** `1:3,7` of ascending or other UIDs. */
export function formatUidSet(uids: readonly number[]): string {
  const ranges: Array<[number, number]> = []
  for (const uid of uids.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1)
    if (last && uid <= last[1] + 1) last[1] = uid
    else ranges.push([uid, uid])
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}:${to}`)).join(',')
}

export function parseUidSet(set: string): number[] {
  return set.split(',').flatMap(range => {
    const [from = 0, to = from] = range.split(':').map(Number)
    return Array.from({ length: Math.abs(to - from) + 1 }, (_, index) => Math.min(from, to) + index)
  })
}

/** The UIDs that UIDPLUS returns (RFC 4315), in the tagged answer or, with MOVE, before it. */
function uidsOf(reply: Reply, code: 'APPENDUID' | 'COPYUID') {
  const texts = [reply.text, ...reply.untagged.map(values => values.map(String).join(' '))]
  for (const text of texts) {
    const set = new RegExp(`\\[${code} (?:\\S+ )+([\\d:,]+)\\]`).exec(text)?.[1]
    if (set) return parseUidSet(set)
  }
  return []
}
