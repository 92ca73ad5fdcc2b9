import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLIENT, ALL } from './connect/use-refresh-tokens.ts'
import { useImapAccounts } from './imap-accounts.ts'
import type { TestApp } from './open-app.ts'
import { type SandboxServer, startSandbox } from './servers/sandbox.ts'

const SCRIPT = resolve(import.meta.dirname, '../../../scripts/carry-accounts.ts')
const run = promisify(execFile)

const imap = useImapAccounts()
const opened = new AsyncDisposableStack()
let sandbox: SandboxServer
let app: TestApp
let folder: string
beforeAll(async () => {
  sandbox = opened.use(await startSandbox())
  const { clientId, clientSecret } = CLIENT
  const config = {
    sandboxUrl: sandbox.controlUrl,
    googleClientId: clientId,
    googleClientSecret: clientSecret,
  }
  app = opened.use(await imap.openApp({ config }))
  folder = await mkdtemp(join(tmpdir(), 'waxwing-carried-'))
})
afterAll(async () => {
  await opened.disposeAsync()
  await rm(folder, { recursive: true })
})

/** Runs the script over a file; returns the lines that it prints. */
function carry(source: string, text: string, ...options: string[]): Promise<object[]> {
  return carryTo(app.address, source, text, ...options)
}

async function carryTo(url: string, source: string, text: string, ...options: string[]): Promise<object[]> {
  const file = join(folder, 'export')
  await writeFile(file, text)
  const { stdout } = await run(process.execPath, [SCRIPT, source, file, ...options], {
    env: { ...process.env, WAXWING_URL: url, WAXWING_KEY: app.key },
  })
  return stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as object)
}

async function listAccounts(): Promise<Map<string | null, Account>> {
  const { body } = await app.get<{ items: Account[] }>('/v1/accounts')
  return new Map(body.items.map(account => [account.externalRef, account]))
}

async function newGrant(email: string): Promise<string> {
  await sandbox.addUser(email, { name: 'Ada' })
  return (await sandbox.grant(email, ALL)).refreshToken
}

test('accounts of EmailEngine are connected with the credentials of their rows', async () => {
  const user = await imap.dovecot.addUser()
  const row = (account: string, fields: Record<string, object | string>) =>
    JSON.stringify({
      account,
      ...Object.fromEntries(
        Object.entries(fields).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : JSON.stringify(value),
        ]),
      ),
    })
  const auth = { user: user.email, pass: user.password }
  const server = { host: 'localhost', port: imap.dovecot.tlsPort, secure: true }
  const lines = [
    row('user-1', { name: 'Ada', email: user.email, imap: { ...server, auth } }),
    row('user-2', {
      oauth2: {
        provider: 'AAABhaBPHscAAAAH',
        refreshToken: await newGrant('carried1@gmail.test'),
        auth: { user: 'carried1@gmail.test' },
      },
    }),
    row('user-3', {
      email: 'eve@example.com',
      imap: { ...server, auth: { user: 'eve', pass: '$wd01$aes-256-gcm$00$00$00$00' } },
    }),
    row('user-4', { oauth2: { provider: 'service', auth: { user: 'kim@gmail.test' } } }),
  ].join('\n')
  const apps = ['--google-apps', 'gmail,AAABhaBPHscAAAAH']

  const planned = await carry('emailengine', lines, ...apps)
  expect(planned).toMatchObject([
    { externalRef: 'user-1', outcome: 'can_be_connected', path: '/v1/imap-accounts' },
    { externalRef: 'user-2', outcome: 'can_be_connected', path: '/v1/accounts' },
    { externalRef: 'user-3', outcome: 'must_sign_in', reason: expect.stringContaining('encrypted') },
    { externalRef: 'user-4', outcome: 'must_sign_in', reason: expect.stringContaining('service') },
  ])
  expect(JSON.stringify(planned)).not.toContain(user.password)
  expect((await listAccounts()).size).toBe(0)

  const connected = await carry('emailengine', lines, ...apps, '--connect')
  expect(connected.slice(0, 2)).toMatchObject([{ outcome: 'connected' }, { outcome: 'connected' }])
  const accounts = await listAccounts()
  expect(accounts.get('user-1')).toMatchObject({ email: user.email, displayName: 'Ada', status: 'active' })
  expect(accounts.get('user-2')).toMatchObject({ email: 'carried1@gmail.test', provider: 'gmail' })
  expect(await carry('emailengine', lines, ...apps, '--connect')).toMatchObject([
    { outcome: 'exists' },
    { outcome: 'exists' },
    { outcome: 'must_sign_in' },
    { outcome: 'must_sign_in' },
  ])
})

test('grants of Nylas are connected with the credentials that you hold, and get links otherwise', async () => {
  const user = await imap.dovecot.addUser()
  const data = [
    {
      id: 'grant-1',
      provider: 'google',
      email: 'carried2@gmail.test',
      settings: { refresh_token: await newGrant('carried2@gmail.test') },
    },
    { id: 'grant-2', provider: 'microsoft', email: 'eva@office.test', grant_status: 'valid' },
    {
      id: 'grant-3',
      provider: 'imap',
      email: user.email,
      settings: {
        imap_username: user.email,
        imap_password: 'wrong',
        imap_host: 'localhost',
        imap_port: imap.dovecot.tlsPort,
      },
    },
    { id: 'grant-4', provider: 'ews', email: 'kim@example.com' },
  ]
  const lines = await carry('nylas', JSON.stringify({ data }), '--connect', '--links')
  expect(lines).toMatchObject([
    { externalRef: 'grant-1', outcome: 'connected' },
    { externalRef: 'grant-2', outcome: 'link', url: expect.stringContaining('/connect/') },
    { externalRef: 'grant-3', outcome: 'link' },
    { externalRef: 'grant-4', outcome: 'link', reason: expect.stringContaining('ews') },
  ])
  expect((await listAccounts()).get('grant-1')).toMatchObject({ email: 'carried2@gmail.test' })
})

const GRANT = '{"id": "grant-1", "provider": "google", "settings": {"refresh_token": "1//0secret"}}'

test.each([401, 502])('an answer with %i is no reason for a user to sign in again', async status => {
  const asked: (string | undefined)[] = []
  await using server = createServer((request, response) => {
    asked.push(request.url)
    response.writeHead(status).end('<html>')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mail/`
  const lines = await carryTo(url, 'nylas', GRANT, '--connect', '--links')
  expect(lines).toMatchObject([{ outcome: 'failed', reason: expect.stringContaining(String(status)) }])
  expect(asked).toEqual(['/mail/v1/accounts'])
})

test.each([
  ['a line', `${GRANT}\n\n{"settings": {"password": osecret}}`, 'Line 3'],
  ['a field', JSON.stringify({ id: 'grant-2', settings: '{"password": osecret}' }), 'A field'],
])('%s that is no JSON ends the script without showing its text', async (_, text, name) => {
  const failure = carry('nylas', text).catch((error: { stdout: string; stderr: string }) => error)
  expect(await failure).toMatchObject({ stdout: '', stderr: expect.stringContaining(`${name} of the file`) })
  expect(await failure).not.toMatchObject({ stderr: expect.stringContaining('osecret') })
})
