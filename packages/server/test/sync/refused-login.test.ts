import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { expect, test } from 'vitest'
import { openMetrics } from '../../src/kit/metrics.ts'
import { waitUntil } from '../wait-until.ts'
import { readFeed } from './followed-account.ts'
import {
  messageEvents,
  openProxiedAccount,
  retryUntil,
  shortMessages,
  waitForMessageEvents,
  waitForRuntime,
} from './proxied-account.ts'

/** Ten minutes in production. */
const pace = { pollSeconds: 1, refusalSeconds: 0.5 }

test.concurrent('a password that is refused for long enough stops the account with one event, and a new one starts it again', async () => {
  const metrics = openMetrics()
  await using account = await openProxiedAccount({
    pace,
    metrics,
    arrange: world => world.deliver(shortMessages(1, 2)),
  })
  const { app, proxy, server, user, world, accountId, cursor } = account
  const changed = await server.setPassword(user, 'another secret')
  proxy.cutAll()
  await waitForRuntime(app, accountId, 'backoff', /^The server refused the login/)
  const readAccount = async () => (await app.get<Account>(`/v1/accounts/${accountId}`)).body
  expect(await readAccount()).toMatchObject({ status: 'active' })

  const stopped = await retryUntil(app, accountId, 'the account to be stopped', async () => {
    const { status, statusReason } = await readAccount()
    return status === 'reauth_required' && statusReason
  })
  expect(stopped).toBe('login_failed')
  expect(
    (proxy.stats.commands.get('LOGIN') ?? 0) + (proxy.stats.commands.get('AUTHENTICATE') ?? 0),
  ).toBeGreaterThanOrEqual(5)
  await waitForRuntime(app, accountId, 'stopped', /login_failed/)
  await world.deliver(shortMessages(3, 1))
  await waitUntil('the last connection to end', () => Promise.resolve(proxy.stats.connections === 0))

  const { status } = await app.patch(`/v1/accounts/${accountId}/imap-settings`, {
    password: changed.password,
  })
  expect(status).toBe(200)
  expect(await waitForMessageEvents(app, cursor, 1)).toEqual(['message.created message 3'])
  expect(await readAccount()).toMatchObject({ status: 'active', statusReason: null })
  const told = (await readFeed(app, cursor)).events.filter(({ type }) => type.startsWith('account.'))
  expect(told.map(({ type }) => type)).toEqual([
    'account.reauth_required',
    'account.updated',
    'account.connected',
  ])

  await waitForRuntime(app, accountId, 'live')
  await world.deliver(shortMessages(4, 1))
  await waitForMessageEvents(app, cursor, 2)
  const sample = async (name: string) =>
    new RegExp(`^${name} (.*)$`, 'm').exec(await metrics.metrics())?.[1] ?? null
  await waitUntil(
    'the notice to be counted',
    async () => Number(await sample('waxwing_notice_seconds_count')) > 0,
  )
  expect(await sample('waxwing_mail_connections{protocol="imap"}')).toBe('1')
  expect(Number(await sample('waxwing_database_connections{state="idle"}'))).toBeGreaterThan(0)
  expect(
    await sample(`waxwing_build_info{version=".*",node="${process.versions.node}",roles="api,sync"}`),
  ).toBe('1')

  const lines = app.logLines.map(
    line => JSON.parse(line) as { level: string; accountId?: string; message: string },
  )
  const steps = lines.filter(({ message }) => /^The (account is|provider refuses)/.test(message))
  expect(steps.map(({ message }) => message)).toEqual([
    'The account is connected',
    'The account is live',
    'The provider refuses the account, which has to be connected again',
    'The account is connected',
    'The account is live',
  ])
  expect(new Set(steps.map(({ level }) => level))).toEqual(new Set(['info']))
  expect(new Set(steps.map(step => step.accountId))).toEqual(new Set([accountId]))
})

test.concurrent('a server that refuses correct passwords for a while stops no account', async () => {
  await using account = await openProxiedAccount({ arrange: world => world.deliver(shortMessages(1, 2)) })
  const { app, proxy, world, accountId, cursor } = account
  const refusals = () =>
    [...proxy.stats.commands].reduce(
      (sum, [name, count]) => (/LOGIN|AUTHENTICATE/.test(name) ? sum + count : sum),
      0,
    )
  const before = refusals()
  proxy.faults = {
    refusedCommands: [/^(LOGIN|AUTHENTICATE)\b/],
    refusal: 'NO [AUTHENTICATIONFAILED] Authentication failed.',
  }
  proxy.cutAll()
  await world.deliver(shortMessages(3, 1))
  await retryUntil(app, accountId, 'five refused logins', () => Promise.resolve(refusals() >= before + 5))
  proxy.faults = {}
  const told = await retryUntil(app, accountId, 'the new message', async () => {
    const events = messageEvents((await readFeed(app, cursor)).events)
    return events.length > 0 && events
  })
  expect(told).toEqual(['message.created message 3'])
  const { events } = await readFeed(app, cursor)
  expect(events.filter(({ type }) => type.startsWith('account.'))).toEqual([])
})
