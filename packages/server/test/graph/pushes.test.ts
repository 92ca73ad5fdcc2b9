import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { stopAccount } from '../../src/features/accounts/accounts/operator.ts'
import { openEndingKeys } from '../../src/features/accounts/grants/revocation.ts'
import { makeTaskDue } from '../make-task-due.ts'
import { readMailboxes } from '../sync/followed-account.ts'
import { ageGrants } from '../tokens/age-grants.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGraph, type GraphAccount, type GraphApp, openGraphApp } from './open-graph-app.ts'
import { casesFor, SOAK } from '../soak.ts'

let opened: GraphApp
beforeAll(async () => {
  // So rare that within a test only pushes bring anything.
  opened = await openGraphApp({ pace: { pollSeconds: 600 } })
})
afterAll(() => opened[Symbol.asyncDispose]())

interface Played {
  user: string
  id: string
  clientState: string | null
  resource: string
}

const subscriptions = async (email: string): Promise<Played[]> => {
  const { items } = await opened.sandbox.control<{ items: Played[] }>('GET', '/subscriptions')
  return items.filter(({ user }) => user === email)
}

async function connectPushed(options: Parameters<typeof connectGraph>[1] = {}): Promise<GraphAccount> {
  const account = await connectGraph(opened, { messages: 3, ...options })
  await waitUntil('the subscription', async () => (await subscriptions(account.email)).length === 1)
  await toBeStored(account.accountId)
  return account
}

const storedOf = async (accountId: string) =>
  opened.app.db
    .selectFrom('half_subscription')
    .select(['subscription_id as id', 'event'])
    .where('account_id', '=', accountId)
    .where('kind', '=', 'mail')
    .executeTakeFirst()
const toBeStored = (accountId: string) =>
  waitUntil('its row', async () => (await storedOf(accountId)) !== undefined)

const statusOf = async ({ accountId }: GraphAccount) =>
  (await opened.app.get<{ status: string }>(`/v1/accounts/${accountId}`)).body.status
const countLeft = async () =>
  (await opened.app.db.selectFrom('left_subscription').select('id').execute()).length

const toArrive = (account: GraphAccount, subject: string) =>
  waitUntil(`the message "${subject}"`, async () =>
    (await account.messages()).some(message => message.subject === subject),
  )
const deliver = (email: string, subject: string) =>
  opened.sandbox.deliver(
    email,
    `From: Grace <grace@example.com>\r\nTo: me@office.test\r\nSubject: ${subject}\r\n\r\nHi\r\n`,
  )
const tell = (event: string, user: string) =>
  opened.sandbox.control('POST', '/subscriptions/events', { event, user })

test('a notification brings a new message', async () => {
  const account = await connectPushed()
  await deliver(account.email, 'Pushed')
  await toArrive(account, 'Pushed')
})

test('a notification brings a change in another folder than the inbox', SOAK, async () => {
  const account = await connectPushed({ messages: 0 })
  const { client } = account
  const folder = await client.createFolder('Elsewhere')
  await deliver(account.email, 'To be moved')
  await toArrive(account, 'To be moved')
  const [moved] = await client.all("messages?$filter=subject eq 'To be moved'&$select=id")
  await client.move([moved.id], folder)
  await client.ask('PATCH', `messages/${moved.id}`, { isRead: true })
  const names = async () =>
    new Map((await readMailboxes(opened.app, account.accountId)).map(({ id, name }) => [id, name]))
  await waitUntil('the move and the mark', async () => {
    const message = (await account.messages()).find(({ subject }) => subject === 'To be moved')
    const places = message?.mailboxIds ?? []
    return message?.isRead === true && (await names()).get(places[0] ?? '') === 'Elsewhere'
  })
})

test('a subscription that was removed is made again', async () => {
  const account = await connectPushed()
  const [before] = await subscriptions(account.email)
  await tell('subscriptionRemoved', account.email)
  const after = await waitUntil('another one', async () => (await subscriptions(account.email))[0] ?? null)
  expect(after.id).not.toBe(before?.id)
  await waitUntil('its row', async () => (await storedOf(account.accountId))?.id === after.id)
  await deliver(account.email, 'After the removal')
  await toArrive(account, 'After the removal')
  expect(await statusOf(account)).toBe('active')
})

test('a removal whose grant is refused makes the account wait for another one', async () => {
  const account = await connectPushed()
  await ageGrants(opened.app.db)
  // Microsoft removes subscriptions when a password is changed, which also ends the grant.
  await opened.sandbox.changeUser(account.email, { passwordChanged: true })
  await waitUntil('the end of the grant', async () => (await statusOf(account)) === 'reauth_required')
  expect((await account.feed()).map(({ type }) => type)).toContain('account.reauth_required')
  expect(await subscriptions(account.email)).toEqual([])
})

/** Stops an account as `waxwing account pause` does. */
async function stop(path: string): Promise<{ status: number }> {
  const { db, keyRing, tenantId } = opened.app
  const keys = await openEndingKeys(db, keyRing)
  const id = path.slice(path.lastIndexOf('/') + 1)
  const stopped = await inTransaction(db, tenantId, unit => stopAccount(unit, id, keys))
  return { status: stopped?.isDone ? 200 : 404 }
}

const ENDS = [
  ['deleted', (path: string) => opened.app.delete(path)],
  ['deleted and purged', (path: string) => opened.app.delete(`${path}?purge=true`)],
  ['paused', (path: string) => opened.app.patch(path, { status: 'paused' })],
  ['stopped by the operator', stop],
] as const

describe.each(casesFor(ENDS, ([end]) => end === 'deleted'))('with an account that is %s,', (_, end) => {
  test('its subscription is deleted at Microsoft', async () => {
    const account = await connectPushed()
    const sibling = await connectPushed()
    const { status } = await end(`/v1/accounts/${account.accountId}`)
    expect(status).toBeLessThan(300)
    await waitUntil('no subscription', async () => (await subscriptions(account.email)).length === 0)
    await waitUntil('no token', async () => (await countLeft()) === 0)
    expect(await storedOf(account.accountId)).toBeUndefined()
    expect(await subscriptions(sibling.email)).toHaveLength(1)
  })
})

test('a resumed account has a subscription again', SOAK, async () => {
  const account = await connectPushed()
  const path = `/v1/accounts/${account.accountId}`
  await opened.app.patch(path, { status: 'paused' })
  await waitUntil('no subscription', async () => (await subscriptions(account.email)).length === 0)
  await opened.app.patch(path, { status: 'active' })
  await waitUntil('another one', async () => (await subscriptions(account.email)).length === 1)
  await toBeStored(account.accountId)
  await deliver(account.email, 'After the pause')
  await toArrive(account, 'After the pause')
})

describe('the deletion of a subscription', () => {
  /** Deletes an account while Microsoft deletes no subscription; the first try has failed. */
  async function deleteInTrouble(): Promise<GraphAccount> {
    const account = await connectPushed()
    await opened.sandbox.addFault({ does: 'error', status: 503, ...deleting })
    const before = await tries()
    await opened.app.delete(`/v1/accounts/${account.accountId}`)
    await waitUntil('a try', async () => (await tries()) > before)
    return account
  }
  const deleting = { host: 'graph.microsoft.com', method: 'DELETE', path: '/v1.0/subscriptions/*' }
  const tries = async () => (await opened.sandbox.calls(deleting)).items.length
  const runJobs = () =>
    waitUntil('no job', async () => {
      await sql`update job set due_at = clock_timestamp() where kind = 'delete_subscription'`.execute(
        opened.app.db,
      )
      const { rows } = await sql`select from job where kind = 'delete_subscription'`.execute(opened.app.db)
      return rows.length === 0
    })

  test('is tried again while Microsoft fails', async () => {
    const account = await deleteInTrouble()
    expect(await subscriptions(account.email)).toHaveLength(1)
    await opened.sandbox.clearFaults()
    await runJobs()
    expect(await subscriptions(account.email)).toEqual([])
    expect(await countLeft()).toBe(0)
  })

  test('is given up when the access token has expired, which is then forgotten', async () => {
    const account = await deleteInTrouble()
    await sql`update left_subscription set expires_at = clock_timestamp()`.execute(opened.app.db)
    await opened.sandbox.clearFaults()
    await runJobs()
    expect(await subscriptions(account.email)).toHaveLength(1)
    await makeTaskDue(opened.app.database.pool, 'forget_tokens')
    await waitUntil('no token', async () => (await countLeft()) === 0)
  })
})

test('an account whose subscription Microsoft refuses is followed, and shows the reason', async () => {
  const making = { host: 'graph.microsoft.com', method: 'POST', path: '/v1.0/subscriptions' }
  await opened.sandbox.addFault({ does: 'error', status: 403, ...making })
  const { accountId } = await connectGraph(opened, { messages: 1 })
  await waitUntil('the refusal', async () => {
    const { items } = await opened.sandbox.calls(making)
    return items.some(({ status }) => status === 403)
  })
  // The state of an account is reported after each pass.
  await opened.app.post(`/v1/accounts/${accountId}/sync`, {})
  await waitUntil('the reason', async () => {
    const { body } = await opened.app.get<Account>(`/v1/accounts/${accountId}`)
    return body.runtime?.detail?.includes('Microsoft refuses to send notifications') === true
  })
  await opened.sandbox.clearFaults()
})

test('a subscription that is to be authorized again is renewed, and brings mail again', async () => {
  const account = await connectPushed()
  await tell('reauthorizationRequired', account.email)
  await waitUntil('the renewal', async () => {
    const [one] = await opened.sandbox
      .control<{ items: Array<{ user: string; isPaused: boolean }> }>('GET', '/subscriptions')
      .then(({ items }) => items.filter(({ user }) => user === account.email))
    return one?.isPaused === false && (await storedOf(account.accountId))?.event === null
  })
  await deliver(account.email, 'Authorized again')
  await toArrive(account, 'Authorized again')
})

test('mail whose notifications were lost comes after the event that says so', async () => {
  const account = await connectPushed()
  await opened.sandbox.configurePushes({ provider: 'microsoft', drop: 1, missed: true })
  await deliver(account.email, 'Missed')
  await toArrive(account, 'Missed')
  await opened.sandbox.configurePushes({ provider: 'microsoft', drop: 0, missed: false })
})
