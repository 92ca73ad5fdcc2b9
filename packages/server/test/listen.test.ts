import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { inTransaction } from '../src/events/unit-of-work.ts'
import { openTestApp, type TestApp } from './open-app.ts'
import { runWaxwing, startWaxwing } from './service-process.ts'
import { waitUntil } from './wait-until.ts'
import { SOAK } from './soak.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

async function serveHttp(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    closeConnections: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

interface Received {
  headers: IncomingHttpHeaders
  body: string
}

async function openReceiver() {
  const received: Received[] = []
  const server = await serveHttp((request, response) => {
    text(request).then(
      body => {
        received.push({ headers: request.headers, body })
        response.end('thank\nyou')
      },
      () => response.destroy(),
    )
  })
  return { ...server, received }
}

/** Passes requests on to the service, or closes their connections. */
async function openFront(app: TestApp) {
  const front = { isDown: false }
  const server = await serveHttp((request, response) => {
    if (front.isDown) return request.socket.destroy()
    const headers = { authorization: request.headers.authorization ?? '' }
    const passOn = async () => {
      const answer = await fetch(app.address + request.url, { headers })
      response.writeHead(answer.status, { 'content-type': 'application/json' })
      response.end(await answer.text())
    }
    passOn().catch(() => request.socket.destroy())
  })
  return Object.assign(front, server)
}

const announce = (app: TestApp, message: string) =>
  inTransaction(app.db, app.tenantId, async unit =>
    unit.announce({ type: 'webhook.test', accountId: null, data: { message } }),
  )

/** Verifies as a receiver does; throws if the signature is wrong. */
const verify = ({ headers, body }: Received) =>
  new Webhook(SECRET).verify(body, headers as Record<string, string>)

describe('waxwing listen', () => {
  test('signs and posts every event from its start on, also after the service was away', async () => {
    await using app = await openTestApp()
    await using receiver = await openReceiver()
    await using front = await openFront(app)
    await announce(app, 'too early')
    const args = ['listen', '--forward', `${receiver.url}/hooks`, '--base-url', front.url, '--secret', SECRET]
    await using command = startWaxwing(args, { env: { WAXWING_KEY: app.key } })
    await waitUntil('the beginning', async () =>
      command.output().includes(`signed with the secret ${SECRET}`),
    )

    await announce(app, 'first: "}, {\\ é')
    await waitUntil('the first event', async () => receiver.received.length === 1)
    front.isDown = true
    front.closeConnections()
    await waitUntil('the report of a failure', async () => command.output().includes('Trying again in'))
    await announce(app, 'second')
    front.isDown = false
    await waitUntil('the second event', async () => receiver.received.length === 2)

    const { body: feed } = await app.get<{ items: unknown[] }>('/v1/changes')
    expect(receiver.received.map(verify)).toEqual(feed.items.slice(1))
    // Written as the feed writes them, by what writes webhooks.
    const page = await fetch(`${app.address}/v1/changes`, { headers: { authorization: `Bearer ${app.key}` } })
    expect(await page.text()).toContain(receiver.received.map(({ body }) => body).join())
    expect(receiver.received[0]?.headers['user-agent']).toBe('waxwing-webhooks/1')
    command.kill('SIGINT')
    expect(await command.ended).toMatchObject({ code: 0, stderr: '' })
    expect(command.output()).toMatch(/webhook\.test \d+: 200 in \d+ ms: thank you\n/)
    expect(command.output()).not.toContain(app.key)
  })

  test('makes a secret, and goes on when the receiver refuses connections', SOAK, async () => {
    await using app = await openTestApp()
    const closed = await openReceiver()
    await closed[Symbol.asyncDispose]()
    const args = ['listen', '--key', app.key, '--forward', closed.url, '--base-url', app.address]
    await using command = startWaxwing(args)
    await waitUntil('the beginning', async () => /secret whsec_[\w+/]{43}=/.test(command.output()))
    await announce(app, 'one')
    await waitUntil('the report', async () => command.output().includes('failed, the connection was refused'))
    command.kill('SIGINT')
    command.kill('SIGINT')
    // The second one may find the process past its last line, where nothing handles signals any more.
    const { code, signal, stderr } = await command.ended
    expect([0, 'SIGINT']).toContain(code ?? signal)
    expect(stderr).toBe('')
    expect(command.output()).toMatch(/\nStopped\.\n$/)
  })

  test('explains what is wrong with its arguments, its key and its service', async () => {
    await using app = await openTestApp({ scopes: ['write'] })
    await using gone = await openReceiver()
    await gone[Symbol.asyncDispose]()
    const run = async (...args: string[]) => {
      const { code, stderr } = await runWaxwing(['listen', ...args])
      expect(code).toBe(1)
      expect(stderr).not.toContain('    at ')
      return stderr
    }
    const forward = ['--forward', 'http://127.0.0.1:9/hooks']
    const base = ['--base-url', app.address]
    expect(await run()).toContain("required option '--forward <url>'")
    expect(await run('--forward', 'ftp://a.test')).toContain('It must be an http or https URL.')
    expect(await run(...forward)).toContain('Name an API key')
    expect(await run(...forward, '--key', 'wk_x', '--secret', 'whsec_abc')).toContain('24 to 64 bytes')
    expect(await run(...forward, ...base, '--key', 'wk_wrong')).toContain('does not accept the API key')
    expect(await run(...forward, ...base, '--key', app.key)).toContain('403 missing_scope')
    expect(await run(...forward, '--base-url', gone.url, '--key', 'wk_x')).toContain(
      'cannot be reached: the connection was refused. Is the service running?',
    )
    const { code, stdout } = await runWaxwing(['listen', '--help'])
    expect([code, stdout]).toEqual([0, expect.stringContaining('Standard Webhooks')])
  })
})
