import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { REDIS_CLI } from '../../../test/servers/install.ts'
import { startRedis } from '../../../test/servers/redis.ts'
import { silentLog } from '../../kit/log.ts'
import { parseRedisUrl } from '../../kit/redis-url.ts'
import { RedisLink } from './link.ts'
import { createNames } from './names.ts'
import { COUNT } from './scripts.ts'

const BUSY_MILLISECONDS = 60
/** A caller waits 20 ms; the rest is room for a machine that does much else. Without a bound it would wait forever. */
const WAIT_MILLISECONDS_MAX = 30_000
/** For what is not about time: a machine that does much else may be slow. */
const PATIENCE = { answerMilliseconds: 10_000 }

test('an answer that comes while this process is busy is in time', async () => {
  await using server = await startRedis()
  const keyOf = createNames(Buffer.alloc(32))
  const address = parseRedisUrl(server.url)
  await using link = await RedisLink.open({ address, authorities: undefined, log: silentLog, keyOf })
  for (let nth = 1; nth <= 5; nth++) {
    const counted = link.run(COUNT, ['busy'], [3_600_000, 100, 1])
    // The command is written before the process is busy.
    await new Promise(resolve => setImmediate(resolve))
    const until = performance.now() + BUSY_MILLISECONDS
    while (performance.now() < until);
    // Redis answers in order: once it has answered this, it has answered the command. Nothing else runs here meanwhile.
    execFileSync(REDIS_CLI, ['-p', String(server.port), 'ping'])
    expect(await counted).toEqual([expect.any(Number), 101 - nth])
  }
})

test('a caller does not wait for a server that has stopped', async () => {
  await using server = await startRedis()
  const keyOf = createNames(Buffer.alloc(32))
  const address = parseRedisUrl(server.url)
  await using link = await RedisLink.open({ address, authorities: undefined, log: silentLog, keyOf })
  server.kill('SIGSTOP')
  const askedAt = performance.now()
  const answer = await link.run(COUNT, ['any'], [3_600_000, 100, 1])
  const waited = performance.now() - askedAt
  server.kill('SIGCONT')
  expect(answer).toBeNull()
  expect(waited).toBeLessThan(WAIT_MILLISECONDS_MAX)
})

test('a user who may use only the keys and commands that are documented can count', async () => {
  await using server = await startRedis()
  const commands =
    '+ping +select +eval +evalsha +set +get +del +exists +type +time +zadd +zrem +zcard +zremrangebyscore +pexpire'
  await server.command('acl', 'setuser', 'limited', 'on', '>pass word', '~waxwing:*', ...commands.split(' '))
  const address = parseRedisUrl(server.url.replace('//', '//limited:pass%20word@') + '/3')
  const keyOf = createNames(Buffer.alloc(32))
  await using link = await RedisLink.open({
    address,
    authorities: undefined,
    log: silentLog,
    keyOf,
    ...PATIENCE,
  })
  expect(await link.run(COUNT, ['any'], [3_600_000, 100, 1])).toEqual([expect.any(Number), 100])
})
