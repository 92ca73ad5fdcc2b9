import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { expect, test } from 'vitest'
import { callerOf } from './caller.ts'
import { useImapAccounts } from './imap-accounts.ts'
import { makePreparedFolder } from './prepared-folder.ts'
import { startServiceProcess } from './service-process.ts'
import { waitUntil } from './wait-until.ts'

const mail = useImapAccounts()

test('servers with a private authority are trusted with WAXWING_CA_FILE, and refused with a reason without it', async () => {
  await using folder = await makePreparedFolder()
  const user = await mail.dovecot.addUser()
  await using smtp = await mail.openSmtp(user)
  const env = { WAXWING_EGRESS_ALLOW: 'localhost,127.0.0.1,[::1]' }
  const connection = mail.connection(user, smtp)
  let key: string | null
  {
    await using service = await startServiceProcess(folder, { env })
    key = service.key
    const refused = await callerOf(service.address, key).post('/v1/imap-accounts', connection)
    expect(refused).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } })
    expect(refused.body['message']).toContain('was not issued by an authority that this service trusts')
    expect(refused.body['message']).toContain('WAXWING_CA_FILE')
    expect(refused.body['message']).not.toContain('Node')
    service.kill('SIGINT')
    await service.ended
  }
  // Two authorities: one for the IMAP server, one for the SMTP server.
  const file = path.join(folder.path, 'authorities.pem')
  await writeFile(file, mail.authorities)
  await using service = await startServiceProcess(folder, { env: { ...env, WAXWING_CA_FILE: file } })
  const { get, post } = callerOf(service.address, key)
  const connected = await post<Account>('/v1/imap-accounts', connection)
  expect(connected.status).toBe(200)
  await waitUntil('the account is followed', async () => {
    const { body } = await get<Account>(`/v1/accounts/${connected.body.id}`)
    return body.runtime?.state === 'live'
  })
})
