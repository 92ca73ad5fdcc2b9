import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { Secret } from '../../src/kit/secret.ts'
import { callerOf } from '../caller.ts'
import { findFreePort } from '../metrics.ts'
import { openTestApp } from '../open-app.ts'

test('a process with the role sync or jobs alone is probed at the address of the settings, and nowhere else', async () => {
  const probe = async (role: 'sync' | 'jobs') => {
    const metricsPort = await findFreePort()
    await using app = await openTestApp({ roles: [role], config: { metricsHost: '127.0.0.2', metricsPort } })
    expect(app.address).toBe('http://no-api.invalid')
    const { get } = callerOf(`http://127.0.0.2:${metricsPort}`, null)
    expect((await get('/health/live')).status).toBe(200)
    await expect.poll(async () => (await get('/health/ready')).status).toBe(200)
    await expect.poll(async () => (await get('/metrics')).body).toContain('\nwaxwing_ready 1\n')
    await expect(fetch(`http://127.0.0.1:${metricsPort}/health/live`)).rejects.toThrow()

    const stopped = app.stop({ noticeSeconds: 5 })
    expect(await get('/health/ready')).toMatchObject({ status: 503, body: { problems: ['it is stopping'] } })
    expect((await get('/health/live')).status).toBe(200)
    await stopped
  }
  // Each takes as long as it gives notice of its stop.
  const ends = await Promise.allSettled([probe('sync'), probe('jobs')])
  expect(ends.filter(({ status }) => status === 'rejected')).toEqual([])
})

test('a process with the role api is not ready before the API answers', async () => {
  const metricsPort = await findFreePort()
  await using store = await openSlowStore()
  const { s3Bucket, s3Endpoint } = store
  const opening = openTestApp({ config: { metricsPort, s3Bucket, s3Endpoint, ...KEYS } })
  await store.asked
  const { get } = callerOf(`http://127.0.0.1:${metricsPort}`, null)
  await expect
    .poll(() => get('/health/ready'))
    .toMatchObject({ status: 503, body: { problems: ['it is starting'] } })
  expect((await get('/health/live')).status).toBe(200)

  store.answer()
  await using app = await opening
  await expect.poll(async () => (await get('/health/ready')).status).toBe(200)
  await expect.poll(async () => (await app.get('/health/ready')).status).toBe(200)
})

const KEYS = { s3AccessKeyId: 'key', s3SecretAccessKey: new Secret('secret') }

/** An empty object store that takes its time: it answers nothing until the test allows it. */
async function openSlowStore() {
  const asked = Promise.withResolvers<void>()
  const answering = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    asked.resolve()
    request.resume()
    await answering.promise
    if (request.method === 'GET') response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
    else response.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    s3Bucket: 'slow',
    s3Endpoint: `http://127.0.0.1:${port}`,
    asked: asked.promise,
    answer: () => answering.resolve(),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}
