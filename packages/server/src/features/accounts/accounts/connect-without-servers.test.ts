import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { describe, expect, test } from 'vitest'
import { startDnsServer } from '../../../../test/dns-server.ts'
import { startHttpsServer } from '../../../../test/https-server.ts'
import { accountCount, useImapAccounts } from '../../../../test/imap-accounts.ts'

const mail = useImapAccounts()

describe('POST /v1/imap-accounts without servers', () => {
  /** Opens an app that finds this file at `dovecot.test`, or no file if null. */
  async function openSearching(file: string | null) {
    await using opened = new AsyncDisposableStack()
    const web = opened.use(await startHttpsServer(mail.certificates))
    if (file !== null) web.pages['localhost/v1.1/dovecot.test'] = file
    const dns = opened.use(await startDnsServer())
    const autoconfig = { records: dns.resolver, ispdbUrl: `https://localhost:${web.port}/v1.1/` }
    const resolve = async (name: string) => (name === 'localhost' ? ['127.0.0.1'] : [])
    const app = opened.use(await mail.openApp({ autoconfig, resolve }))
    const owned = opened.move()
    return { app, web, [Symbol.asyncDispose]: () => owned.disposeAsync() }
  }

  function serverXml(type: 'imap' | 'smtp', port: number | null): string {
    const name = type === 'imap' ? 'incomingServer' : 'outgoingServer'
    const security = type === 'imap' ? 'SSL' : 'STARTTLS'
    return `<${name} type="${type}"><hostname>localhost</hostname><port>${port}</port>
      <socketType>${security}</socketType><username>%EMAILADDRESS%</username></${name}>`
  }

  const fileOf = (...servers: string[]) =>
    `<clientConfig version="1.1"><emailProvider id="x">${servers.join('')}</emailProvider></clientConfig>`

  test('finds both servers, and logs in to them', async () => {
    const user = await mail.dovecot.addUser()
    await using smtp = await mail.openSmtp(user)
    const file = fileOf(serverXml('imap', mail.dovecot.tlsPort), serverXml('smtp', smtp.port))
    await using world = await openSearching(file)

    const made = await world.app.post<Account>('/v1/imap-accounts', {
      email: user.email,
      password: user.password,
    })

    expect(made.status).toBe(200)
    expect(made.body.imap).toMatchObject({
      imap: { host: 'localhost', port: mail.dovecot.tlsPort, security: 'tls', user: user.email },
      smtp: { host: 'localhost', port: smtp.port, security: 'starttls', user: user.email },
    })
    expect(smtp.commands.filter(line => line.startsWith('AUTH'))).toHaveLength(1)
  })

  test('finds only the one that is missing', async () => {
    const user = await mail.dovecot.addUser()
    await using smtp = await mail.openSmtp(user)
    await using world = await openSearching(fileOf(serverXml('imap', 9), serverXml('smtp', smtp.port)))
    const named = { email: user.email, password: user.password, imap: mail.connection(user).imap }

    const readOnly = await world.app.post<Account>('/v1/imap-accounts', { ...named, smtp: null })
    expect(readOnly.body.imap?.smtp).toBeNull()
    expect(world.web.connections).toBe(0)
    await world.app.delete(`/v1/accounts/${readOnly.body.id}`)

    const made = await world.app.post<Account>('/v1/imap-accounts', named)
    expect(made.body.imap).toMatchObject({
      imap: { port: mail.dovecot.tlsPort },
      smtp: { port: smtp.port },
    })
  })

  test('is refused if one is not found', async () => {
    const user = await mail.dovecot.addUser()
    const login = { email: user.email, password: user.password }
    await using nothing = await openSearching(null)
    await using noSmtp = await openSearching(fileOf(serverXml('imap', mail.dovecot.tlsPort)))

    for (const { app } of [nothing, noSmtp]) {
      const answer = await app.post('/v1/imap-accounts', login)
      expect(answer).toMatchObject({ status: 422, body: { code: 'autodiscovery_failed' } })
      expect(await accountCount(app)).toBe(0)
    }
    expect((await noSmtp.app.post('/v1/imap-accounts', { ...login, smtp: null })).status).toBe(200)
  })
})
