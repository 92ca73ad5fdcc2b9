import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import { expect } from 'vitest'
import type { Caller } from '../caller.ts'
import type { MailServer, TestUser } from '../servers/mail-server.ts'
import { readChangingTruth, type TrueMailbox, type TrueMessage } from '../servers/reference.ts'
import { waitUntil } from '../wait-until.ts'
import type { Disturbance } from './disturbance.ts'
import { countUnannounced, foldFeed, type IndexState } from './fold-feed.ts'
import {
  type FeedEvent,
  readFeed,
  readMailboxes,
  readMessages,
  waitForFirstSync,
} from './followed-account.ts'
import { subjectOf } from './other-client.ts'

const REST_SECONDS_MAX = 120
/** Interval at which the service is asked to sync while a test waits for its result. */
const ASK_AGAIN_MS = 1_000

/** The index, and the whole feed of an account up to it. */
export interface Rest {
  state: IndexState
  events: FeedEvent[]
}

function flagWords(flags: readonly string[]): string {
  return ['\\Seen', '\\Flagged', 'later', 'work'].filter(flag => flags.includes(flag)).join(' ')
}

interface DescribedMailbox extends Pick<TrueMailbox, 'path' | 'unseenCount'> {
  messages: ReadonlyArray<Pick<TrueMessage, 'subject' | 'flags'>>
}

/** Mail of a server, in lines that can be compared with those of the index. */
export function describeTruth(truth: readonly DescribedMailbox[]): string[] {
  return truth
    .flatMap(({ path, messages, unseenCount }) => [
      `${path}: ${messages.length} messages, ${unseenCount} unread`,
      ...messages.map(({ subject, flags }) => `${path}: ${subject} ${flagWords(flags)}`),
    ])
    .toSorted()
}

export function describeIndex({ mailboxes, messages }: IndexState): string[] {
  const paths = new Map([...mailboxes.values()].map(({ id, path }) => [id, path]))
  return [
    ...[...mailboxes.values()].map(
      ({ path, totalCount, unreadCount }) => `${path}: ${totalCount} messages, ${unreadCount} unread`,
    ),
    ...[...messages.values()].map(({ mailboxIds, subject, isRead, isFlagged, categories }) => {
      const flags = [...(isRead ? ['\\Seen'] : []), ...(isFlagged ? ['\\Flagged'] : []), ...categories]
      return `${mailboxIds.map(id => paths.get(id)).join()}: ${subject} ${flagWords(flags)}`
    }),
  ].toSorted()
}

/** Reads index and feed in one state: nothing was announced while they were read. */
export async function readState(caller: Caller, accountId: string): Promise<Rest> {
  return waitUntil('a moment without an event', async () => {
    const { events, cursor } = await readFeed(caller)
    const mailboxes = await readMailboxes(caller, accountId)
    const messages = await readMessages(caller, accountId)
    if ((await readFeed(caller, cursor)).events.length > 0) return null
    const state = {
      mailboxes: new Map(mailboxes.map(mailbox => [mailbox.id, mailbox])),
      messages: new Map(messages.map(message => [message.id, message])),
    }
    return { state, events: events.filter(event => event.accountId === accountId) }
  })
}

/** Waits until the other client is done and the index equals the server. */
export async function comeToRest(
  caller: Caller,
  { server, user, accountId }: { server: MailServer; user: TestUser; accountId: string },
  disturbance: Disturbance,
): Promise<Rest> {
  let askedAt = performance.now()
  const askAgain = async () => {
    if (performance.now() - askedAt < ASK_AGAIN_MS) return
    askedAt = performance.now()
    await caller.post(`/v1/accounts/${accountId}/sync`)
  }
  await waitUntil(
    'others to be done',
    async () => {
      await askAgain()
      return disturbance.acts === 0 && disturbance.kills === 0
    },
    REST_SECONDS_MAX,
  )
  await waitForFirstSync(caller, accountId)
  let found: string[] = []
  let wanted: string[] = []
  const equal = await waitUntil(
    'the index to equal the server',
    async () => {
      await askAgain()
      wanted = describeTruth(await readChangingTruth(server, user))
      found = describeIndex((await readState(caller, accountId)).state)
      return wanted.join('\n') === found.join('\n')
    },
    REST_SECONDS_MAX,
  ).catch(() => false)
  expect(found, `not at rest after ${REST_SECONDS_MAX} s`).toEqual(wanted)
  expect(equal).toBe(true)
  return readState(caller, accountId)
}

function byId<Item extends { id: string }>(items: ReadonlyMap<string, Item>): Item[] {
  return [...items.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

function withoutCounts({ mailboxes }: IndexState): Array<Partial<Mailbox>> {
  return byId(mailboxes).map(mailbox => ({ ...mailbox, totalCount: null, unreadCount: null }))
}

/** Subjects that were seen under several ids although there was never more than one copy. */
export function renamedContents(
  unstable: ReadonlySet<number>,
  states: readonly IndexState[],
  feed: readonly FeedEvent[],
) {
  const copied = new Set([...unstable].map(subjectOf))
  const ids = new Map<string, Set<string>>()
  const seen = [
    ...states.flatMap(({ messages }) => [...messages.values()]),
    ...feed.flatMap(({ data }) => data.message ?? []),
  ]
  for (const { subject, id } of seen) {
    if (subject === null || copied.has(subject)) continue
    const held = ids.get(subject)
    if (held) held.add(id)
    else ids.set(subject, new Set([id]))
  }
  return [...ids].flatMap(([subject, held]) => (held.size > 1 ? [subject] : []))
}

/** Checks the feed since the first event of an account against the index at two times. */
export function expectFeedToTell(before: Rest, after: Rest): void {
  const [connected, initialized] = after.events
  expect([connected?.type, initialized?.type]).toEqual(['account.connected', 'account.initialized'])
  expect(countUnannounced(before.events, before.state)).toBe(initialized?.data.messages)

  const folded = foldFeed(before.state, after.events.slice(before.events.length))
  expect(byId(folded.messages)).toEqual(byId(after.state.messages))
  expect(withoutCounts(folded)).toEqual(withoutCounts(after.state))

  const created = after.events.filter(({ type }) => type === 'message.created')
  expect(new Set(created.map(({ data }) => data.message?.id)).size).toBe(created.length)
}
