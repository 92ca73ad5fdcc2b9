import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { describe, expect, test } from 'vitest'
import { useImapAccounts } from '../../test/imap-accounts.ts'
import type { TestApp } from '../../test/open-app.ts'
import { accountKeys } from '../accounts/secrets.ts'
import { trustAlso } from '../kit/authorities.ts'
import { parseEgressAllow } from '../kit/egress/allow-list.ts'
import { egressGuard } from '../kit/egress/guard.ts'
import { openFileThread } from '../providers/dav/file-thread.ts'
import { contentOf, letterOf, outgoing } from '../providers/conformance/sending.ts'
import { connectors, endpoints } from './connector.ts'
import { HostBudget } from './host-budget.ts'
import { imapKind } from './kinds/imap.ts'
import { SharedConnections } from './shared-connections.ts'

describe('an account that sends', () => {
  const mail = useImapAccounts()

  function connectionsOf(app: TestApp, allowed = ['localhost']) {
    const imap = imapKind({
      db: app.db,
      accountKeys: accountKeys(app.keyRing),
      guard: egressGuard({ allow: parseEgressAllow(allowed), resolve: async () => ['127.0.0.1'] }),
      budget: new HostBudget(10),
      smtpBudget: new HostBudget(10),
      davBudget: new HostBudget(10),
      davFiles: openFileThread(),
      clientName: 'waxwing.example.com',
      settings: { allowPlaintext: false },
      authorities: trustAlso(mail.authorities),
    })
    const options = { db: app.db, kinds: { imap }, reachedFor: 'calls' } as const
    return new SharedConnections({
      connectorOf: connectors(options, 'read'),
      endpointOf: endpoints(options.kinds),
      senderOf: connectors(options, 'send'),
    })
  }

  const sendBy = (connections: SharedConnections, app: TestApp, id: string, from: string) =>
    connections.use(
      { id, tenantId: app.tenantId, provider: 'imap', kind: 'mail', version: '1' },
      'sending',
      sending => sending.send(outgoing(from, ['bob@example.com'], contentOf(letterOf('one', 'hello\r\n')))),
      { isRepeatable: false },
    )

  test.each([
    ['the password of its SMTP server', 'of its own'],
    ['its main password where that has none', null],
  ])('logs in with %s', async (_, smtpPassword) => {
    await using app = await mail.openApp()
    const user = await mail.dovecot.addUser()
    await using sink = await mail.openSmtp(user, smtpPassword ? { password: smtpPassword } : {})
    const { body } = await app.post<Account>('/v1/imap-accounts', {
      ...mail.connection(user, sink),
      ...(smtpPassword && { smtpPassword }),
    })
    await using connections = connectionsOf(app)

    for (let count = 0; count < 2; count++) await sendBy(connections, app, body.id, user.email)

    const accepted = await sink.accepted()
    expect(accepted.map(({ from, to }) => [from, to])).toEqual([
      [user.email, ['bob@example.com']],
      [user.email, ['bob@example.com']],
    ])
    // One connection of the check, one for both messages; each greets before and after STARTTLS.
    expect(sink.connections).toBe(2)
    expect(sink.commands.filter(line => line.startsWith('EHLO'))).toEqual([
      'EHLO [127.0.0.1]',
      'EHLO [127.0.0.1]',
      'EHLO waxwing.example.com',
      'EHLO waxwing.example.com',
    ])
  })

  test('is refused where it only reads, is gone, or its server may not be reached', async () => {
    await using app = await mail.openApp()
    const user = await mail.dovecot.addUser()
    const { body } = await app.post<Account>('/v1/imap-accounts', mail.connection(user))
    await using sink = await mail.openSmtp(user)
    {
      await using connections = connectionsOf(app)
      const sent = sendBy(connections, app, body.id, user.email)
      await expect(sent).rejects.toMatchObject({ kind: 'unsupported', isBeforeAcceptance: true })
      const missing = sendBy(connections, app, crypto.randomUUID(), user.email)
      await expect(missing).rejects.toMatchObject({ kind: 'account_deleted' })
    }
    await app.patch(`/v1/accounts/${body.id}/imap-settings`, {
      smtp: { host: 'localhost', port: sink.port, security: 'starttls' },
    })
    await using connections = connectionsOf(app, [])
    const sent = sendBy(connections, app, body.id, user.email)
    await expect(sent).rejects.toMatchObject({ kind: 'not_allowed', isBeforeAcceptance: true })
  })
})
