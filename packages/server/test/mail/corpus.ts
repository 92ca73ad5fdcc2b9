import { type Random, seeded } from '../seeded.ts'
import { writeBody } from './bodies.ts'
import { BROKEN } from './broken.ts'
import { type Conversation, replyTo, startConversation, type Turn } from './conversations.ts'
import { addressField, dateField, expectedAddresses, pickPerson, type Person, textField } from './fields.ts'
import { LANGUAGES } from './languages.ts'
import type { GeneratedMessage } from './message.ts'
import { serialize } from './mime.ts'

export interface CorpusOptions {
  seed: number | string
  count: number
  /** When the newest message arrives. Only dates depend on it. */
  newest?: Date
  spanDays?: number
  /** The owner of the mailboxes. */
  owner?: { name: string; address: string }
  /** If false, everything goes to INBOX. */
  hasMailboxes?: boolean
  brokenShare?: number
  sizeMedian?: number
}

const LIVE_CONVERSATIONS_MAX = 200
const LATE_BY_MAX = 30

/**
 * Generates realistic mail, oldest first, the same for the same options: threads, languages, files, and broken mail.
 */
export function* generateMail(options: CorpusOptions): Generator<GeneratedMessage, void> {
  const writer = openWriter(options)
  const late: Array<{ due: number; message: GeneratedMessage }> = []
  for (let made = 0, number = 0; made < options.count; number++) {
    const date = writer.dateOf(made)
    const isDue = late[0] && late[0].due <= number
    const arrivals = isDue ? [late.shift()?.message] : writer.write(number, date)
    for (const arrival of arrivals) {
      if (!arrival || made >= options.count) continue
      const isLate = !isDue && writer.random.chance(0.03) && options.count - made > LATE_BY_MAX
      if (isLate)
        late.push({
          due: number + writer.random.between(1, LATE_BY_MAX),
          message: { ...arrival, kind: `late ${arrival.kind}` },
        })
      else {
        // A late message keeps its Date field and arrives now.
        yield isDue ? { ...arrival, internalDate: date } : arrival
        made++
      }
    }
    late.sort((a, b) => a.due - b.due)
  }
}

function openWriter(options: CorpusOptions) {
  const { seed, count, newest = new Date(), spanDays = 60, brokenShare = 0.04 } = options
  const random = seeded(seed)
  const owner: Person = { ...(options.owner ?? OWNER), language: LANGUAGES[0]! }
  const live: Conversation[] = []
  const end = Math.floor(newest.getTime() / 1000)
  const kinds = Object.keys(BROKEN)
  const context: WriterContext = { ...options, random, owner, seed: String(seed) }

  return {
    random,
    dateOf: (index: number) =>
      new Date((end - Math.round((spanDays * 86400 * (count - 1 - index)) / count)) * 1000),
    write(number: number, date: Date): GeneratedMessage[] {
      // Every kind of broken mail occurs early, then by chance.
      if (number % 7 === 6 && number < kinds.length * 7)
        return [writeBroken(context, kinds[(number - 6) / 7]!, number, date)]
      if (random.chance(brokenShare)) return [writeBroken(context, random.pick(kinds), number, date)]
      const message = writeOrdinary(context, takeTurn(context, live), number, date)
      if (random.chance(0.004)) return [message, { ...message, kind: 'twice the same' }]
      return [message]
    },
  }
}

const OWNER = { name: 'Robin Example', address: 'you@example.com' }

interface WriterContext extends CorpusOptions {
  random: Random
  owner: Person
  seed: string
}

function takeTurn({ random, seed, owner }: WriterContext, live: Conversation[]): Turn {
  const conversation =
    live.length > 0 && random.chance(0.6) ? random.pick(live) : startConversation(random, seed, owner)
  if (!live.includes(conversation)) live.push(conversation)
  if (live.length > LIVE_CONVERSATIONS_MAX) live.shift()
  return replyTo(random, conversation)
}

function writeOrdinary(context: WriterContext, turn: Turn, number: number, date: Date): GeneratedMessage {
  const { random, owner, sizeMedian = 7000 } = context
  const { conversation, from, id, references } = turn
  const to =
    from === owner ? [conversation.partner] : [owner, ...(random.chance(0.2) ? [pickPerson(random)] : [])]
  const cc = Array.from({ length: random.chance(0.15) ? random.between(1, 8) : 0 }, () => pickPerson(random))
  const replyPerson = random.chance(0.05) ? [pickPerson(random)] : []
  const bcc = from === owner && random.chance(0.1) ? [pickPerson(random)] : []
  const priority = random.chance(0.04) ? random.pick(PRIORITIES) : null
  const size = Math.min(400_000, Math.max(300, random.logNormal(sizeMedian, 0.9)))
  const body = writeBody(random, conversation.language, size)
  const fields = [
    ...traceFields(random, number),
    addressField(random, 'From', [from]),
    addressField(random, 'To', to),
    ...(cc.length > 0 ? [addressField(random, 'Cc', cc)] : []),
    ...(bcc.length > 0 ? [addressField(random, 'Bcc', bcc)] : []),
    ...(replyPerson.length > 0 ? [addressField(random, 'Reply-To', replyPerson)] : []),
    textField(random, 'Subject', turn.subject, conversation.language),
    dateField(random, date),
    `Message-ID: ${id}`,
    ...turn.fields,
    ...(priority ? [priority.field] : []),
    'MIME-Version: 1.0',
  ]
  return {
    raw: serialize({ fields: [...fields, ...body.entity.fields], body: body.entity.body }),
    ...pickPlace(context, from === owner),
    internalDate: date,
    kind: `${turn.kind}, ${body.kind}, ${conversation.language.code}`,
    fitsStrictServer: true,
    expected: {
      internetMessageId: id,
      references,
      subject: turn.subject,
      from: { name: from.name, address: from.address },
      to: expectedAddresses(to),
      cc: expectedAddresses(cc),
      bcc: expectedAddresses(bcc),
      replyTo: expectedAddresses(replyPerson),
      sentAt: date,
      importance: priority?.importance ?? 'normal',
      hasAttachments: body.hasAttachments,
      snippetStart: body.snippetStart,
    },
  }
}

const PRIORITIES = [
  { field: 'X-Priority: 1 (Highest)', importance: 'high' },
  { field: 'Importance: High', importance: 'high' },
  { field: 'Importance: low', importance: 'low' },
  { field: 'X-Priority: 5', importance: 'low' },
] as const

/** The fields that transport adds to a header, of about realistic size. */
function traceFields(random: Random, number: number) {
  const hops = Array.from(
    { length: random.between(1, 4) },
    (_, hop) =>
      `Received: from relay${hop}.example.net (relay${hop}.example.net [192.0.2.${hop}])\r\n\tby mx.example.com with ESMTPS id ${number}.${hop}`,
  )
  const signature = 'b3BlbnNzaCBrZXkgdGhhdCBpcyBub25l'.repeat(7).replace(/.{70}/g, '$&\r\n\t ')
  return [
    ...hops,
    `DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=mail;\r\n\tb=${signature}`,
    'X-Spam-Status: No, score=-1.9',
  ]
}

/** Picks a mailbox and flags. */
function pickPlace({ random, hasMailboxes = true }: WriterContext, isOwn: boolean) {
  const other = random.pick(['Archive', 'Archive', 'Projects', 'Projects/Übersicht 2025', 'Junk', 'Trash'])
  const mailbox = isOwn ? 'Sent' : random.chance(0.75) ? 'INBOX' : other
  const flags = [
    ...(isOwn || random.chance(0.7) ? ['\\Seen'] : []),
    ...(random.chance(0.06) ? ['\\Flagged'] : []),
    ...(random.chance(0.08) ? ['\\Answered'] : []),
    ...(random.chance(0.04) ? [random.pick(['$Forwarded', 'work', 'holiday'])] : []),
  ]
  return { mailbox: hasMailboxes ? mailbox : 'INBOX', flags }
}

function writeBroken(context: WriterContext, kind: string, number: number, date: Date): GeneratedMessage {
  const { random, seed } = context
  const {
    raw,
    expected,
    fitsStrictServer = true,
  } = BROKEN[kind]!({ random, number, date, id: `<broken.${number}.${seed}@example.com>` })
  return { raw, expected, fitsStrictServer, kind, internalDate: date, ...pickPlace(context, false) }
}
