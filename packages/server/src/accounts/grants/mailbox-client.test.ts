import { expect, test } from 'vitest'
import { sampleAccount, sampleTenant } from '../../../test/sample-rows.ts'
import { useTestApp } from '../../../test/use-app.ts'
import { newId } from '../../kit/ids.ts'
import { findMailboxClient } from './mailbox-client.ts'

const service = useTestApp()

/** Adds accounts of tenants of their own, the oldest first. */
async function openAccounts() {
  const { db } = await service.newTenant()
  const soon = new Date(Date.now() + 3_600_000)
  const token = Buffer.from([0])
  return {
    db,
    async add(subject: string, clientId: string, cloud = 'global') {
      const { id: tenantId } = await sampleTenant(db)
      const { id } = await sampleAccount(db, tenantId, {
        provider: 'graph',
        auth_method: 'oauth',
        imap: null,
        subject,
        cloud,
      })
      await db
        .insertInto('oauth_grant')
        .values({
          account_id: id,
          id: newId(),
          provider: 'microsoft',
          client_id: clientId,
          scopes: [],
          access_token: token,
          refresh_token: token,
          issued_at: new Date(),
          expires_at: soon,
          refresh_at: soon,
        })
        .execute()
      return id
    },
  }
}

test('the oldest account of a mailbox and a client is the first one', async () => {
  const { db, add } = await openAccounts()
  const subject = `microsoft:${newId()}`
  const oldest = await add(subject, 'app')
  const another = `microsoft:${newId()}`
  const others = [
    await add(subject, 'app'),
    await add(subject, 'another app'),
    await add(subject, 'app', 'dod'),
    await add(another, 'app'),
  ]
  const findAll = () => Promise.all([oldest, ...others].map(id => findMailboxClient(db, id)))
  expect(await findAll()).toEqual([
    { clientId: 'app', subject, isFirst: true },
    { clientId: 'app', subject, isFirst: false },
    { clientId: 'another app', subject, isFirst: true },
    { clientId: 'app', subject, isFirst: true },
    { clientId: 'app', subject: another, isFirst: true },
  ])
  await db.updateTable('account').set({ deleted_at: new Date() }).where('id', '=', oldest).execute()
  expect((await findAll()).slice(0, 2)).toEqual([null, { clientId: 'app', subject, isFirst: true }])
})
