import { openS3Objects } from '../../src/kit/blobs/s3/s3-objects.ts'
import { unrecorded } from '../../src/kit/blobs/s3/s3-uploads.ts'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.ts'
import { startRedis } from '../servers/redis.ts'
import { type S3Server, startS3 } from '../servers/s3.ts'

/** Whether the processes share Redis and a bucket, or only the database and a folder. */
export const STORES = ['redis-and-s3', 'none'] as const
export type StoresKind = (typeof STORES)[number]

/** Redis and an object store, each behind a proxy. */
export interface Stores extends AsyncDisposable {
  /** The settings with which a process uses both, through the proxies. */
  env: Record<string, string>
  redisProxy: FaultProxy
  s3: S3Server
  s3Proxy: FaultProxy
  signalRedis(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void
  /** Starts an empty Redis in place of one that was killed. */
  restartRedis(): Promise<void>
  flushRedis(): Promise<void>
  /** How many requests Redis takes to be in progress. */
  countInProgress(): Promise<number>
  /** The keys of all objects, read past the proxy. */
  listObjects(): Promise<string[]>
}

/** Requests in progress are the members of sorted sets, one for each credential. Nothing else is in one. */
const COUNT_IN_PROGRESS = `
  local count = 0
  for _, key in ipairs(redis.call('keys', '*')) do
    if redis.call('type', key).ok == 'zset' then count = count + redis.call('zcard', key) end
  end
  return count`

export async function openStores(): Promise<Stores> {
  await using opened = new AsyncDisposableStack()
  let redis = opened.use(await startRedis())
  const redisProxy = opened.use(await startFaultProxy({ host: '127.0.0.1', port: redis.port }))
  const s3 = opened.use(await startS3())
  const s3Port = Number(new URL(s3.endpoint).port)
  const s3Proxy = opened.use(await startFaultProxy({ host: '127.0.0.1', port: s3Port }))
  const objects = await openS3Objects(s3.settings, unrecorded)
  const owned = opened.move()
  return {
    env: {
      ...s3.env,
      REDIS_URL: `redis://127.0.0.1:${redisProxy.port}`,
      WAXWING_S3_ENDPOINT: `http://127.0.0.1:${s3Proxy.port}`,
    },
    redisProxy,
    s3,
    s3Proxy,
    signalRedis: signal => redis.kill(signal),
    async restartRedis() {
      redis = owned.use(await startRedis({ port: redis.port }))
    },
    async flushRedis() {
      await redis.command('flushall')
    },
    countInProgress: async () => Number(await redis.command('eval', COUNT_IN_PROGRESS, '0')),
    listObjects: async () => (await Array.fromAsync(objects.list(''))).flat().map(({ key }) => key),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
