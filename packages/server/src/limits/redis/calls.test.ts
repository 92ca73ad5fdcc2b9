import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { type RedisServer, startRedis } from '../../../test/servers/redis.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { silentLog } from '../../kit/log.ts'
import { parseRedisUrl } from '../../kit/redis-url.ts'
import { RedisCalls } from './calls.ts'
import { RedisLink } from './link.ts'
import { createNames } from './names.ts'

const IN_FLIGHT_MAX = 16
/** More than Redis could be told in time. */
const REQUESTS_WHILE_GONE = 20_000
/** A machine that does much else may be slow. */
const PATIENCE = { answerMilliseconds: 10_000 }

async function countCommands(redis: RedisServer, command: string): Promise<number> {
  const stats = await redis.command('info', 'commandstats')
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
}

async function countInProgress(redis: RedisServer): Promise<number> {
  const count = `local n = 0
    for _, key in ipairs(redis.call('keys', '*')) do
      if redis.call('type', key).ok == 'zset' then n = n + redis.call('zcard', key) end
    end
    return n`
  return Number(await redis.command('eval', count, '0'))
}

test('a Redis that is back learns of the requests that it may know, and of no others that ended', async () => {
  await using opened = new AsyncDisposableStack()
  const first = opened.use(await startRedis())
  const address = parseRedisUrl(first.url)
  const keyOf = createNames(randomBytes(32))
  const link = opened.use(
    await RedisLink.open({ address, authorities: undefined, log: silentLog, keyOf, ...PATIENCE }),
  )
  const pace = { leaseSeconds: 600, renewalSeconds: 600 }
  const calls = opened.use(new RedisCalls({ link, onUncounted: () => {}, pace }))

  const known = await Promise.all(Array.from({ length: IN_FLIGHT_MAX - 1 }, () => calls.begin('key', [])))
  expect(await countInProgress(first)).toBe(known.length)

  first.kill('SIGKILL')
  await waitUntil('the loss to be noticed', () => Promise.resolve(!link.isUp))
  for (let nth = 0; nth < REQUESTS_WHILE_GONE; nth++) (await calls.begin('key', [])).end()
  const lasting = await calls.begin('key', [])
  for (const call of known) call.end()

  const second = opened.use(await startRedis({ port: first.port }))
  await waitUntil('the request in progress', async () => (await countInProgress(second)) === 1)
  expect(await countCommands(second, 'zrem')).toBe(known.length)
  expect(link.isUp).toBe(true)
  lasting.end()
  await waitUntil('its end', async () => (await countInProgress(second)) === 0)
})
