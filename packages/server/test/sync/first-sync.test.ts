import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { generateMail } from '../mail/corpus.ts'
import { threadNumbers } from '../mail/threads.ts'
import { type FilledMessage, fillMailboxes } from '../servers/fill.ts'
import type { MailServer, TestUser } from '../servers/mail-server.ts'
import { readTruth, type TrueMailbox } from '../servers/reference.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import {
  connectMailbox,
  openSyncApp,
  readFeed,
  readMailboxes,
  readMessages,
  waitForFirstSync,
} from './followed-account.ts'
import { casesFor, numberFor } from '../soak.ts'

const DAY_MS = 86_400_000

/** Messages on each server. Cyrus gets fewer, since its strict parser refuses some. */
const COUNTS = { dovecot: numberFor({ ci: 1_000, soak: 5_000 }), 'dovecot-poor': 500, cyrus: 500 } as const

const ROLES: Record<string, string> = {
  INBOX: 'inbox',
  Drafts: 'drafts',
  Sent: 'sent',
  Junk: 'junk',
  Trash: 'trash',
  Archive: 'archive',
}

/** The facts of a message on which two readers must agree. */
interface Facts {
  path: string
  uid: number
  receivedAt: string
  internetMessageId: string | null
  flags: { isRead: boolean; isFlagged: boolean; isDraft: boolean; categories: string[] }
  direction: string
  kind: string
  expected: FilledMessage['expected']
}

/** Flags as the interface shows them. Keywords that begin with `$` are notes of clients. */
function readFlags(flags: readonly string[]) {
  return {
    isRead: flags.includes('\\Seen'),
    isFlagged: flags.includes('\\Flagged'),
    isDraft: flags.includes('\\Draft'),
    categories: flags.filter(flag => /^[^\\$]/.test(flag)).toSorted(),
  }
}

/** Joins what was delivered with what the server reports about it. Fails if the server has anything else. */
function joinTruth(truth: readonly TrueMailbox[], filled: readonly FilledMessage[]): Facts[] {
  const held = new Map(
    truth.flatMap(({ path, messages }) => messages.map(message => [`${path} ${message.uid}`, message])),
  )
  expect(held.size).toBe(filled.length)
  return filled.map(({ path, uid, kind, expected }) => {
    const message = held.get(`${path} ${uid}`)
    if (!message) throw new Error(`The server lost message ${uid} of ${path}`)
    return {
      path,
      uid,
      receivedAt: message.internalDate.toISOString(),
      internetMessageId: expected.internetMessageId,
      flags: readFlags(message.flags),
      direction: path.endsWith('Sent') ? 'outbound' : 'inbound',
      kind,
      expected,
    }
  })
}

/**
 * Pairs each message of the index with its facts. Equal messages cannot be distinguished, so any pairing of those will
 * do.
 */
function pair(facts: readonly Facts[], messages: readonly MessageSummary[], paths: Map<string, string>) {
  const waiting = Map.groupBy(facts, ({ path, receivedAt, internetMessageId }) =>
    [path, receivedAt, internetMessageId].join(' '),
  )
  return messages.map(message => {
    const path = message.mailboxIds.map(id => paths.get(id)).join()
    const fact = waiting.get([path, message.receivedAt, message.internetMessageId].join(' '))?.pop()
    if (!fact) throw new Error(`The server has no such message: ${JSON.stringify({ path, ...message })}`)
    return { fact, message }
  })
}

/** The facts that are certain, and the same fields of the indexed message. */
function compare({ fact, message }: { fact: Facts; message: MessageSummary }) {
  const { expected, flags, direction, kind } = fact
  const { subject, from, to, cc, importance, hasAttachments, sentAt } = expected
  const { isRead, isFlagged, isDraft, categories } = message
  const wanted = {
    kind,
    ...flags,
    direction,
    ...(subject !== undefined && { subject }),
    ...(from !== undefined && { from }),
    ...(to && { to }),
    ...(cc && { cc }),
    ...(importance && { importance }),
    ...(hasAttachments !== undefined && { hasAttachments }),
    ...(sentAt !== undefined && { sentAt: sentAt?.toISOString() ?? null }),
    ...(expected.snippetStart !== undefined && { snippetStart: expected.snippetStart }),
  }
  const indexed = {
    ...message,
    kind,
    isRead,
    isFlagged,
    isDraft,
    categories,
    snippetStart: message.snippet.slice(0, expected.snippetStart?.length),
  }
  return {
    wanted,
    found: Object.fromEntries(Object.keys(wanted).map(name => [name, indexed[name as keyof typeof indexed]])),
  }
}

/** Names each group after its first member, so that two groupings can be compared. */
function firstOfGroup(groups: ReadonlyArray<string | number | null>): number[] {
  const first = new Map<string | number | null, number>()
  return groups.map((group, index) => {
    if (!first.has(group)) first.set(group, index)
    return first.get(group) ?? index
  })
}

/** Threads by the messages' own references, or, on a server that has threads (RFC 8474), by those of the server. */
async function trueThreads(server: MailServer, user: TestUser, facts: readonly Facts[]) {
  if (server.kind !== 'cyrus') {
    const numbers = threadNumbers(facts.map(({ expected }) => expected))
    return new Map(facts.map((fact, index) => [fact, numbers[index] ?? null]))
  }
  await using world = await openWorld(server, user)
  const threads = new Map<string, string>()
  for (const path of new Set(facts.map(fact => fact.path))) {
    await world.uids(path)
    const { untagged } = await world.witness.command('UID FETCH 1:* (UID THREADID)')
    for (const values of untagged) {
      const [, uid, thread] = /UID,(\d+).*THREADID,(\w+)|$/.exec(String(values)) ?? []
      if (uid && thread) threads.set(`${path} ${uid}`, thread)
    }
  }
  expect(threads.size).toBe(facts.length)
  return new Map(facts.map(fact => [fact, threads.get(`${fact.path} ${fact.uid}`) ?? null]))
}

/** The ages of letters differ by their days alone, however long a test takes. */
const NOW = Date.now()

/** A letter this many days old. */
function letter(days: number) {
  const internalDate = new Date(NOW - days * DAY_MS)
  const raw = `From: a@b.test\r\nSubject: ${days} days old\r\nMessage-ID: <${days}@b.test>\r\n\r\nHello\r\n`
  return { raw, internalDate }
}

describe.each(casesFor(SERVER_KINDS, ({ name }) => name === 'Dovecot'))('on $name', ({ start }) => {
  const useIt = useServer(start)

  test('the first sync indexes exactly what the server has, mailbox by mailbox and message by message', async () => {
    const server = useIt()
    const user = await server.addUser()
    const filled = await fillMailboxes(server, user, generateMail({ seed: 2, count: COUNTS[server.kind] }))
    const truth = await readTruth(server, user)
    const facts = joinTruth(truth, filled)

    await using app = await openSyncApp()
    const accountId = await connectMailbox(app, server, user)
    await waitForFirstSync(app, accountId)

    const mailboxes = await readMailboxes(app, accountId)
    const paths = new Map(mailboxes.map(({ id, path }) => [id, path]))
    expect(
      mailboxes.map(({ path, name, role, parentId, totalCount, unreadCount }) => ({
        path,
        name,
        role,
        parent: parentId === null ? null : paths.get(parentId),
        totalCount,
        unreadCount,
      })),
    ).toEqual(
      truth.map(({ path, messages, unseenCount }) => {
        const [name = '', ...parents] = path.split('/').toReversed()
        return {
          path,
          name,
          role: ROLES[name] ?? 'custom',
          parent: parents.toReversed().join('/') || null,
          totalCount: messages.length,
          unreadCount: unseenCount,
        }
      }),
    )
    const messages = await readMessages(app, accountId)
    expect(messages).toHaveLength(facts.length)
    const pairs = pair(facts, messages, paths)
    const compared = pairs.map(compare)
    expect(compared.map(({ found }) => found)).toEqual(compared.map(({ wanted }) => wanted))
    expect(messages.map(({ receivedAt }) => receivedAt)).toEqual(
      messages
        .map(({ receivedAt }) => receivedAt)
        .toSorted()
        .toReversed(),
    )

    const threads = await trueThreads(server, user, facts)
    expect(firstOfGroup(pairs.map(({ message }) => message.threadId))).toEqual(
      firstOfGroup(pairs.map(({ fact }) => threads.get(fact) ?? null)),
    )

    const { events } = await readFeed(app)
    expect(events.map(({ type }) => type)).toEqual(['account.connected', 'account.initialized'])
    expect(events[1]?.data).toMatchObject({ mailboxes: mailboxes.length, messages: messages.length })
  })

  test('the sync window decides what the index contains without events, and may be changed at any time', async () => {
    const server = useIt()
    const user = await server.addUser()
    await using world = await openWorld(server, user)
    const archive = world.at('Older')
    await world.createMailbox(archive)
    await world.deliver([1, 400, 80, 20, 120, 10].map(letter))
    await world.deliver([300, 60, 5, 100].map(letter), archive)
    await using app = await openSyncApp({ pace: { pollSeconds: 0.2, passFactorMax: 1 } })
    const accountId = await connectMailbox(app, server, user, { syncWindowDays: 90 })
    const { initializedAt } = await waitForFirstSync(app, accountId)
    const delivered: number[] = []

    /** Anything that arrived before would be announced before the letter that is delivered now. */
    const expectSilence = async () => {
      const days = 0.001 * (delivered.length + 1)
      delivered.unshift(days)
      await world.deliver(letter(days))
      const announced = await waitUntil('the letter', async () => {
        const { events } = await readFeed(app)
        const subjects = events.flatMap(({ data }) => data.message?.subject ?? [])
        return subjects.includes(`${days} days old`) && events
      })
      expect(
        announced.flatMap(({ type, data }) =>
          type.startsWith('message.') ? `${type} ${data.message?.subject}` : [],
        ),
      ).toEqual(delivered.toReversed().map(number => `message.created ${number} days old`))
    }
    const holds = (...ages: number[]) => {
      const subjects = [...delivered.toReversed(), ...ages].map(days => `${days} days old`)
      return waitUntil(`messages up to ${ages.at(-1)} days old`, async () => {
        const { rows } = await sql<{ count: number }>`select count(*)::int as count from message`.execute(
          app.db,
        )
        const messages = await readMessages(app, accountId)
        return (
          rows[0]?.count === subjects.length &&
          messages.map(({ subject }) => subject).join() === subjects.join()
        )
      })
    }
    const setWindow = async (syncWindowDays: number | null) => {
      const { status } = await app.patch(`/v1/accounts/${accountId}`, { settings: { syncWindowDays } })
      expect(status).toBe(200)
    }

    await holds(1, 5, 10, 20, 60, 80)
    await setWindow(200)
    await holds(1, 5, 10, 20, 60, 80, 100, 120)
    await expectSilence()
    await setWindow(30)
    await holds(1, 5, 10, 20)
    await expectSilence()
    await setWindow(200)
    await holds(1, 5, 10, 20, 60, 80, 100, 120)
    await setWindow(null)
    await holds(1, 5, 10, 20, 60, 80, 100, 120, 300, 400)
    await expectSilence()
    expect((await waitForFirstSync(app, accountId)).initializedAt).toBe(initializedAt)
  })
})
