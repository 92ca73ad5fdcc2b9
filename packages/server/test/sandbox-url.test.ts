import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestApp, type TestApp } from './open-app.ts'
import { type SandboxServer, startSandbox } from './servers/sandbox.ts'

let sandbox: SandboxServer
let app: TestApp

beforeAll(async () => {
  sandbox = await startSandbox()
  app = await openTestApp({ config: { sandboxUrl: sandbox.controlUrl } })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await sandbox[Symbol.asyncDispose]()
})

test('the log warns of the sandbox, and names the hosts that it plays', () => {
  const warning = app.logLines.find(line => line.includes('A sandbox plays the providers'))
  expect(warning).toContain('gmail.googleapis.com')
})

test('its addresses stay closed to the mail servers of accounts', async () => {
  for (const origin of Object.values(sandbox.hosts)) {
    const { hostname: host, port } = new URL(origin)
    const answer = await app.post('/v1/imap-accounts', {
      email: 'ada@gmail.test',
      password: 'x',
      imap: { host, port: Number(port) },
      smtp: { host, port: Number(port) },
    })
    expect(answer).toMatchObject({ status: 400, body: { code: 'server_not_allowed' } })
  }
})

test.each(['ada@gmail.test', 'somebody@corp.test'])('the address %s is one of Google', async email => {
  const { body } = await app.get(`/v1/autoconfig?email=${email}`)
  expect(body).toMatchObject({ source: 'mx', oauth: 'google', imap: { host: 'imap.gmail.com' } })
})

test('its addresses stay closed to webhooks', async () => {
  const url = `${sandbox.origin('gmail.googleapis.com').replace('http:', 'https:')}/hook`
  const answer = await app.post('/v1/webhooks', { url })
  expect(answer).toMatchObject({ status: 400, body: { code: 'server_not_allowed' } })
})

test('no call reached the sandbox', async () => {
  expect((await sandbox.calls()).items).toEqual([])
})
