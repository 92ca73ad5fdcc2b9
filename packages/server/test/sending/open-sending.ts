import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { newId } from '../../src/kit/ids.ts'
import type { Caller } from '../caller.ts'
import { openTestApp, type TestApp, type TestAppOptions } from '../open-app.ts'
import { startDovecot } from '../servers/dovecot.ts'
import type { MailServer, TestUser } from '../servers/mail-server.ts'
import { type SmtpSink, type SmtpSinkOptions, startSmtpSink } from '../servers/smtp-sink.ts'
import { readFeed } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'

export const GRACE = { address: 'grace@example.org' }

export interface SendingApp extends AsyncDisposable {
  app: TestApp
  imap: MailServer
  sink: SmtpSink
}

export interface SendingOptions {
  app?: TestAppOptions
  sink?: SmtpSinkOptions
}

/** The service with API and jobs, an IMAP server, and an SMTP server that keeps a journal. */
export async function openSendingApp({ app = {}, sink = {} }: SendingOptions = {}): Promise<SendingApp> {
  await using opened = new AsyncDisposableStack()
  const imap = opened.use(await startDovecot())
  const smtp = opened.use(await startSmtpSink(sink))
  const service = opened.use(
    await openTestApp({
      roles: ['api', 'jobs'],
      egressAllow: ['127.0.0.1/32'],
      allowPlaintext: true,
      ...app,
    }),
  )
  const owned = opened.move()
  return { app: service, imap, sink: smtp, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** A tenant of the service that runs, with an SMTP server of its own. */
export async function openSendingTenant(
  { app, imap }: SendingApp,
  options: SmtpSinkOptions = {},
): Promise<SendingApp> {
  const tenant = await app.createTenant(newId())
  const sink = await startSmtpSink(options)
  return { app: { ...app, ...tenant }, imap, sink, [Symbol.asyncDispose]: () => sink[Symbol.asyncDispose]() }
}

export interface SenderOptions {
  user?: TestUser
  appendSent?: boolean
  smtpHost?: string
  settings?: Record<string, unknown>
  /** The servers of calendars and contacts. */
  dav?: Record<string, unknown>
}

/** Connects the mailbox of a user, who sends through the sink. @returns the account's id */
export async function connectSender(
  caller: Caller,
  { imap, sink }: { imap: MailServer; sink: Pick<SmtpSink, 'port'> },
  options: SenderOptions = {},
): Promise<string> {
  const {
    user = await imap.addUser(),
    appendSent = false,
    smtpHost = '127.0.0.1',
    settings = {},
    dav,
  } = options
  const { status, body } = await caller.post<Account>('/v1/imap-accounts', {
    email: user.email,
    password: user.password,
    displayName: 'Ada Lovelace',
    imap: { host: imap.host, port: imap.port, security: 'none', user: user.user },
    smtp: { host: smtpHost, port: sink.port, security: 'none', user: user.user },
    appendSent,
    ...(dav && { dav }),
    settings: { syncWindowDays: null, ...settings },
  })
  if (status !== 200) throw new Error(`could not connect: ${JSON.stringify(body)}`)
  return body.id
}

/** Sends a message, which must be accepted. */
export async function send(
  caller: Caller,
  accountId: string,
  change: Record<string, unknown> = {},
): Promise<OutboxEntry> {
  const { status, body } = await caller.post<OutboxEntry>(`/v1/accounts/${accountId}/outbox`, {
    to: [GRACE],
    subject: 'Hello',
    text: 'Hello, Grace.\n',
    ...change,
  })
  if (status !== 200) throw new Error(`not accepted: ${JSON.stringify(body)}`)
  return body
}

export async function readEntry(caller: Caller, { accountId, id }: OutboxEntry): Promise<OutboxEntry> {
  return (await caller.get<OutboxEntry>(`/v1/accounts/${accountId}/outbox/${id}`)).body
}

/** Waits until the entry is as it should be. */
export function waitForEntry(
  caller: Caller,
  entry: OutboxEntry,
  awaited: string,
  isThere: (entry: OutboxEntry) => boolean,
): Promise<OutboxEntry> {
  return waitUntil(awaited, async () => {
    const now = await readEntry(caller, entry)
    return isThere(now) ? now : null
  })
}

export const waitForStatus = (caller: Caller, entry: OutboxEntry, status: OutboxEntry['status']) =>
  waitForEntry(caller, entry, `the send to be ${status}`, now => now.status === status)

/** Waits until the message is sent, and linked to its copy. */
export const waitForCopy = (caller: Caller, entry: OutboxEntry) =>
  waitForEntry(caller, entry, 'the copy', ({ status, messageId }) => status === 'sent' && messageId !== null)

/** Events of sends, oldest first. */
export async function sendEvents(caller: Caller): Promise<Array<{ type: string; data: SendEventData }>> {
  const { events: all } = await readFeed(caller)
  const events = all.filter(({ type }) => type.startsWith('send.'))
  return events.map(({ type, data }) => ({ type, data: data as unknown as SendEventData }))
}

export interface SendEventData {
  outbox: OutboxEntry
  error?: { reason: string; message: string }
}
