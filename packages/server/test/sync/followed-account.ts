import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { SyncPace } from '../../src/start/sync.ts'
import type { Caller } from '../caller.ts'
import { openTestApp, type TestApp, type TestAppOptions } from '../open-app.ts'
import type { MailServer, TestUser } from '../servers/mail-server.ts'
import { waitUntil } from '../wait-until.ts'

/** Quick enough for a test; production waits 45 s between two passes, or minutes if the server reports all changes. */
export const QUICK_PACE: SyncPace = { pollSeconds: 1, passFactorMax: 1 }

export interface FeedEvent {
  id: string
  type: string
  accountId: string | null
  data: {
    message?: MessageSummary
    mailboxes?: Array<{ id: string; path: string }>
    mailbox?: Mailbox
    contact?: Contact
    changes?: string[]
    messages?: number
  }
}

/** The service with API and sync, which may reach servers on this machine. */
export function openSyncApp(options: TestAppOptions = {}): Promise<TestApp> {
  return openTestApp({
    roles: ['api', 'sync'],
    egressAllow: ['127.0.0.1/32'],
    allowPlaintext: true,
    pace: QUICK_PACE,
    ...options,
  })
}

/** Connects a mailbox as a user would. @returns the account's id */
export async function connectMailbox(
  caller: Caller,
  server: Pick<MailServer, 'host' | 'port'>,
  user: TestUser,
  settings: Record<string, unknown> = { syncWindowDays: null },
): Promise<string> {
  const { status, body } = await caller.post<Account>('/v1/imap-accounts', {
    email: user.email,
    password: user.password,
    imap: { host: server.host, port: server.port, security: 'none', user: user.user },
    smtp: null,
    settings,
  })
  if (status !== 200) throw new Error(`could not connect: ${JSON.stringify(body)}`)
  return body.id
}

export function waitForFirstSync(caller: Caller, accountId: string, limitSeconds?: number): Promise<Account> {
  return waitUntil(
    'the first sync',
    async () => {
      const { body } = await caller.get<Account>(`/v1/accounts/${accountId}`)
      return body.initializedAt === null ? null : body
    },
    limitSeconds,
  )
}

export async function readMailboxes(caller: Caller, accountId: string): Promise<Mailbox[]> {
  const { body } = await caller.get<{ items: Mailbox[] }>(`/v1/accounts/${accountId}/mailboxes`)
  return body.items
}

/** Every message of the account, page by page. */
export async function readMessages(caller: Caller, accountId: string): Promise<MessageSummary[]> {
  return readPages(caller, `/v1/accounts/${accountId}/messages?limit=200`)
}

async function readPages<Item>(caller: Caller, path: string): Promise<Item[]> {
  const items: Item[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const { body }: { body: { items: Item[]; nextCursor: string | null } } = await caller.get(
      `${path}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`,
    )
    items.push(...body.items)
    cursor = body.nextCursor
  }
  return items
}

/** The whole feed from its beginning, or from a cursor. */
export async function readFeed(
  caller: Caller,
  from?: string,
): Promise<{ events: FeedEvent[]; cursor: string }> {
  const events: FeedEvent[] = []
  for (let cursor = from; ;) {
    const { body } = await caller.get<{ items: FeedEvent[]; nextCursor: string }>(
      `/v1/changes?limit=200${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`,
    )
    events.push(...body.items)
    cursor = body.nextCursor
    if (body.items.length === 0) return { events, cursor }
  }
}
