/** A process whose clients count calls in Redis on command. It prints the answers. */
import { silentLog } from '../../src/kit/log.ts'
import { parseRedisUrl } from '../../src/kit/redis-url.ts'
import { RedisCalls } from '../../src/limits/redis/calls.ts'
import { RedisLink } from '../../src/limits/redis/link.ts'
import { createNames } from '../../src/limits/redis/names.ts'
import { hasRefusal, loadWindow } from './load-window.ts'

export interface CountingOptions {
  redisUrl: string
  clients: number
  limit: number
  /** How long the clients ask. */
  milliseconds: number
  windowMilliseconds: number
}

const { redisUrl, clients, limit, milliseconds, windowMilliseconds } = JSON.parse(
  process.argv[2] ?? '',
) as CountingOptions
/** Another test proves that a call waits 20 ms. Here the machine may be busy, and each call is to be counted. */
const ANSWER_MILLISECONDS = 10_000

const link = await RedisLink.open({
  address: parseRedisUrl(redisUrl),
  authorities: undefined,
  log: silentLog,
  keyOf: createNames(Buffer.alloc(32, 1)),
  answerMilliseconds: ANSWER_MILLISECONDS,
})
const calls = new RedisCalls({ link, onUncounted: () => {}, pace: { windowMilliseconds } })
let asked = 0

async function ask() {
  const { count, end } = await calls.begin(`key ${asked++ % clients}`, [{ name: 'tenant', limit }])
  end()
  return count
}

process.stdout.write('ready\n')
process.stdin.once('data', () => void load())

async function load(): Promise<void> {
  const told = await loadWindow(ask, {
    clients,
    milliseconds,
    isEnough: until => hasRefusal(until, windowMilliseconds),
  })
  process.stdout.write(`${JSON.stringify(told)}\n`, () => process.exit())
}
