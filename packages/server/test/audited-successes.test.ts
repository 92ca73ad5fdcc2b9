/** @module-tag postgres-16 */
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { contract } from '@waxwing/contract/contract.ts'
import type { Operation, OperationMeta } from '@waxwing/contract/operation.ts'
import type { SuppressionReview } from '@waxwing/contract/sending/suppressions.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inTransaction } from '../src/events/unit-of-work.ts'
import { recordReviews } from '../src/features/sending/suppressions/record-reviews.ts'
import { newId } from '../src/kit/ids.ts'
import { Secret } from '../src/kit/secret.ts'
import { callerOf } from './caller.ts'
import { dayAhead, waitForCalendars, waitForSubjects } from './calendars/caldav-account.ts'
import { waitForContacts } from './contacts/carddav-account.ts'
import { SCOPES } from './gmail/gmail-client.ts'
import { connectUser, SANDBOX_APPS } from './graph/delegates.ts'
import { type Receiver, startReceiver } from './notifications/receiver.ts'
import { openSendingApp, type SendingApp } from './sending/open-sending.ts'
import type { TestUser } from './servers/mail-server.ts'
import { davTestClient } from './servers/dav-client.ts'
import { calendarFile, eventText } from './servers/event-text.ts'
import { startRadicale } from './servers/radicale.ts'
import { type SandboxServer, startSandbox } from './servers/sandbox.ts'
import { openWorld } from './servers/world.ts'
import { QUICK_PACE, readMessages, waitForFirstSync } from './sync/followed-account.ts'
import { waitUntil } from './wait-until.ts'

const metas = new Map<string, OperationMeta>(
  Object.entries(contract).flatMap(([section, operations]) =>
    Object.entries(operations as Record<string, Operation>).map(
      ([name, operation]) => [`${section}.${name}`, operation['~orpc'].meta] as const,
    ),
  ),
)
const audited = [...metas].flatMap(([name, { audit }]) => (audit === null ? [] : [name]))

const opened = new AsyncDisposableStack()
let sending: SendingApp
let sandbox: SandboxServer
let receiver: Receiver
beforeAll(async () => {
  sandbox = opened.use(await startSandbox())
  receiver = opened.use(await startReceiver())
  const config = {
    sandboxUrl: sandbox.controlUrl,
    ...SANDBOX_APPS,
    googleClientId: 'sandbox',
    googleClientSecret: new Secret('sandbox-secret'),
    webhookAllow: ['127.0.0.1/32'],
    webhookAllowHttp: true,
  }
  sending = opened.use(
    await openSendingApp({ app: { roles: ['api', 'jobs', 'sync'], pace: QUICK_PACE, config } }),
  )
})
afterAll(() => opened.disposeAsync())

type Json = Record<string, unknown>
interface Made extends Json {
  id: string
}

const called = new Set<string>()

/** Calls an operation, which must succeed and leave the one row that its contract declares. @returns the answer */
async function call<Body = Made>(
  name: string,
  params: Record<string, string> = {},
  body?: Json,
  query = '',
): Promise<Body> {
  const meta = metas.get(name)
  if (!meta) throw new Error(`There is no operation ${name}`)
  called.add(name)
  const path = meta.path.replaceAll(/\{(\w+)\}/g, (_, param: string) => encodeURIComponent(params[param]!))
  const requestId = `success:${newId()}`
  const caller = callerOf(sending.app.address, meta.session === null ? sending.app.key : null)
  const ask = caller[meta.method.toLowerCase() as 'post' | 'patch' | 'put' | 'delete']
  const answer = await ask<Body>(path + query, body, { 'x-request-id': requestId })
  expect({ name, status: answer.status, body: answer.body }).toMatchObject({
    name,
    status: meta.successStatus,
  })
  const named = Object.entries(params).filter(([param]) => param in meta.targets)
  const targets = { ...Object.fromEntries(named), ...(meta.makes && { [meta.makes]: expect.any(String) }) }
  expect({ name, rows: await rowsOf(requestId) }).toEqual({
    name,
    rows: [{ action: meta.audit, status: meta.successStatus, targets: expect.objectContaining(targets) }],
  })
  return answer.body
}

/** The rows of a request, whether they are in the chain already or not. */
async function rowsOf(requestId: string) {
  const { rows } = await sql<{ action: string; status: number; targets: Json }>`
    select action, status, targets from audit_open where request_id = ${requestId}
    union all select action, status, targets from audit_entry where request_id = ${requestId}
  `.execute(sending.app.db)
  return rows
}

const serversOf = ({ user }: TestUser) => ({
  imap: { host: sending.imap.host, port: sending.imap.port, security: 'none', user },
  smtp: { host: '127.0.0.1', port: sending.sink.port, security: 'none', user },
})

async function connectAccounts(): Promise<string> {
  await call('settings.update', {}, { redirectUris: ['https://app.example.com/done'] })
  await sandbox.addUser('lovelace@gmail.test')
  const { refreshToken } = await sandbox.grant('lovelace@gmail.test', SCOPES)
  const google = await call('accounts.connect', {}, { provider: 'google', refreshToken })
  await call('accounts.delete', { accountId: google.id })
  const delegate = await connectUser(sending.app, sandbox, 'eva@office.test')
  const desk = await call('sharedMailboxes.add', { accountId: delegate.id }, { email: 'desk@office.test' })
  for (const { id } of [desk, delegate]) await call('accounts.delete', { accountId: id })
  await call(
    'connectSessions.authorize',
    {},
    { provider: 'google', redirectUri: 'https://app.example.com/done' },
  )
  const { url } = await call<{ url: string }>('connectSessions.create', {}, {})
  const guest = await sending.imap.addUser()
  const form = { email: guest.email, password: guest.password, ...serversOf(guest) }
  await call('hostedConnectSessions.connectImap', { token: url.slice(url.lastIndexOf('/') + 1) }, form)
  const app = { provider: 'google', name: 'Ours', clientId: 'ours', clientSecret: 'secret' }
  const { id: appId } = await call('oauthApps.create', {}, app)
  await call('oauthApps.update', { appId }, { name: 'Mine' })
  await call('oauthApps.delete', { appId })

  const user = await sending.imap.addUser()
  await using world = await openWorld(sending.imap, user)
  await world.createMailbox('Drafts').catch(() => {})
  await world.deliver(
    [1, 2].map(nth => ({ raw: `Subject: Letter ${nth}\r\nMessage-ID: <${nth}@example.com>\r\n\r\nHi\r\n` })),
  )
  const body = { email: user.email, password: user.password, ...serversOf(user), appendSent: false }
  const { id: accountId } = await call('accounts.createImap', {}, body)
  await waitForFirstSync(sending.app, accountId)
  return accountId
}

async function changeAccount(accountId: string): Promise<void> {
  await call('accounts.update', { accountId }, { externalRef: 'ada' })
  await call('accounts.sync', { accountId }, {})
  await call('accounts.createToken', { accountId }, {})
  await call('mailSettings.update', { accountId }, { signByDefault: false })
  const { id: identityId } = await call('identities.create', { accountId }, { address: 'news@example.org' })
  await call('identities.update', { accountId, identityId }, { name: 'News' })
  await call('identities.delete', { accountId, identityId })
}

async function changeMail(accountId: string): Promise<void> {
  const { id: mailboxId } = await call('mailboxes.create', { accountId }, { name: 'Kept' })
  await call('mailboxes.update', { accountId, mailboxId }, { name: 'Held' })
  await call('mailboxes.delete', { accountId, mailboxId })
  const messages = await waitUntil('threads', async () => {
    const all = await readMessages(sending.app, accountId)
    return all.length === 2 && all.every(({ threadId }) => threadId !== null) ? all : null
  })
  const [one, two] = messages as [MessageSummary, MessageSummary]
  await call('messages.update', { accountId, messageId: one.id }, { isRead: true })
  await call('messages.delete', { accountId, messageId: one.id })
  await call('threads.update', { accountId, threadId: two.threadId! }, { isRead: true })
  await call('threads.delete', { accountId, threadId: two.threadId! })
}

async function sendMail(accountId: string): Promise<void> {
  const message = { to: [{ address: 'grace@example.org' }], subject: 'Hello', text: 'Hello, Grace.\n' }
  const { id: messageId } = await call('drafts.create', { accountId }, message)
  await call('drafts.replace', { accountId, messageId }, { ...message, subject: 'Hello again' })
  await call('drafts.delete', { accountId, messageId })
  const draft = await call('drafts.create', { accountId }, message)
  await call('drafts.send', { accountId, messageId: draft.id }, {})
  const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
  const { id: outboxId } = await call('outbox.create', { accountId }, { ...message, sendAt: inHours(1) })
  await call('outbox.reschedule', { accountId, outboxId }, { sendAt: inHours(2) })
  await call('outbox.cancel', { accountId, outboxId })
  const held = await call('outbox.create', { accountId }, { ...message, sendAt: inHours(1) })
  await sql`
    update outbox set status = 'failed', error_reason = 'outcome_unknown', error_message = 'held',
      held_since = clock_timestamp(), due_at = null
    where id = ${held.id}
  `.execute(sending.app.db)
  await call('outbox.release', { accountId, outboxId: held.id })
  const { to, ...shared } = message
  await call('mailMerges.create', { accountId }, { ...shared, entries: to.map(address => ({ to: address })) })
  const { id: templateId } = await call('templates.create', {}, { name: 'Welcome', text: 'Welcome.' })
  await call('templates.update', { templateId }, { text: 'Be welcome.' })
  await call('templates.delete', { templateId })
}

async function suppress(accountId: string): Promise<void> {
  const listId = 'news'
  await call('suppressions.create', {}, { id: listId, name: 'News' })
  await call('suppressions.update', { listId }, { name: 'Letters' })
  await call('suppressions.addEntries', { listId }, { addresses: ['grace@example.org'] })
  await call('suppressions.deleteEntry', { listId, address: 'grace@example.org' })
  const review = { listId, source: 'reply' as const, accountId, messageId: newId(), outboxId: null }
  const found = ['ada@example.org', 'bob@example.org'].map(address => ({
    ...review,
    address,
    probability: 0.9,
    alternateContacts: [],
  }))
  await inTransaction(sending.app.db, sending.app.tenantId, unit => recordReviews(unit, found))
  const { body } = await sending.app.get<{ items: SuppressionReview[] }>('/v1/suppression-reviews')
  const [one, two] = body.items as [SuppressionReview, SuppressionReview]
  await call('suppressionReviews.approve', { reviewId: one.id })
  await call('suppressionReviews.dismiss', { reviewId: two.id })
  await call('suppressions.delete', { listId }, undefined, '?withEntries=true')
}

async function postWebhooks(): Promise<void> {
  const made = await call<{ endpoint: Made }>('webhooks.create', {}, { url: receiver.url })
  const endpointId = made.endpoint.id
  await call('webhooks.update', { endpointId }, { description: 'Ours' })
  await call('webhooks.rotateSecret', { endpointId }, { graceSeconds: 60 })
  await call('webhooks.test', { endpointId }, {})
  const ever = { since: '2020-01-01T00:00:00.000Z', until: '2100-01-01T00:00:00.000Z' }
  await call('webhookDeliveries.replay', { endpointId }, ever)
  await call('webhookDeliveries.replayFailed', { endpointId }, {})
  const { body } = await sending.app.get<{ items: Made[] }>('/v1/changes?limit=1')
  await call('webhookDeliveries.replayEvent', { endpointId, eventId: body.items[0]!.id })
  await call('webhooks.delete', { endpointId })
}

/** Connects the address books and calendars of the account, and changes a contact, a calendar and events. */
async function changeContactsAndCalendars(accountId: string): Promise<void> {
  await using server = await startRadicale()
  const davUser = await server.addUser()
  const client = davTestClient(server, davUser)
  await client.makeBook('people')
  const { body: account } = await sending.app.get<{ email: string }>(`/v1/accounts/${accountId}`)
  const times = [`DTSTART:${dayAhead(3)}T090000Z`, 'DURATION:PT1H']
  const people = ['ORGANIZER:mailto:boss@example.com', `ATTENDEE:mailto:${account.email}`]
  const asked = calendarFile([eventText('asked', [...times, ...people, 'SUMMARY:Asked'])])
  await client.put(`${await client.makeCalendar('work')}asked.ics`, asked)
  const { user, password } = davUser
  const dav = { calendarUrl: server.url.href, contactsUrl: server.url.href, user, password }
  await call('accounts.updateImapSettings', { accountId }, { dav })
  await waitForContacts(sending.app, accountId)
  const { id: contactId } = await call('contacts.create', { accountId }, { displayName: 'Ada' })
  await call('contacts.update', { accountId, contactId }, { nickname: 'Countess' })
  await call('contacts.delete', { accountId, contactId })
  await waitForCalendars(sending.app, accountId)
  const [invited] = await waitForSubjects(sending.app, accountId, ['Asked'])
  const answer = { response: 'accepted', notify: false }
  await call('calendarEvents.respond', { accountId, eventId: invited!.id }, answer)
  const { id: calendarId } = await call('calendars.create', { accountId }, { name: 'Team' })
  await call('calendars.update', { accountId, calendarId }, { name: 'Crew' })
  const hour = { start: { dateTime: '2040-01-02T09:00:00Z' }, end: { dateTime: '2040-01-02T10:00:00Z' } }
  const { id: eventId } = await call('calendarEvents.create', { accountId }, { calendarId, ...hour })
  await call('calendarEvents.update', { accountId, eventId }, { subject: 'Ours' })
  await call('calendarEvents.delete', { accountId, eventId })
  await call('calendars.delete', { accountId, calendarId })
}

test('each operation that changes something leaves one row when it succeeds', async () => {
  const accountId = await connectAccounts()
  await changeAccount(accountId)
  await changeMail(accountId)
  await sendMail(accountId)
  await suppress(accountId)
  await postWebhooks()
  // It logs in again, so it comes after what needs a connection.
  await changeContactsAndCalendars(accountId)
  await call('accounts.delete', { accountId })
  expect(audited.filter(name => !called.has(name))).toEqual([])
})
