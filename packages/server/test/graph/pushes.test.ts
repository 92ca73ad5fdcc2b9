import { afterAll, beforeAll, expect, test } from 'vitest'
import { readMailboxes } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGraph, type GraphAccount, type GraphApp, openGraphApp } from './open-graph-app.ts'

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
    .selectFrom('graph_subscription')
    .select(['subscription_id as id', 'event'])
    .where('account_id', '=', accountId)
    .executeTakeFirst()
const toBeStored = (accountId: string) =>
  waitUntil('its row', async () => (await storedOf(accountId)) !== undefined)

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

test('a notification brings a change in another folder than the inbox', async () => {
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
