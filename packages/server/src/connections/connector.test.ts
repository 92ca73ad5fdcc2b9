import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { sampleAccount } from '../../test/sample-rows.ts'
import { useTestApp } from '../../test/use-app.ts'
import type { HalfKind } from '../accounts/halves/kind.ts'
import { connectors } from './connector.ts'
import type { Kind } from './kinds/kind.ts'

const service = useTestApp()

/** A kind whose mail and calendars are on two hosts. It has no contacts. */
const toy: Kind = {
  endpoints: { mail: 'toy', calendar: 'other' },
  waysTo: () => ({
    read: (_, half) => ({
      host: `${half}.test`,
      syncWindowDays: null,
      isOneAtATime: true,
      acquire: () => Promise.reject(new Error('not acquired here')),
      connect: () => Promise.reject(new Error('not connected here')),
    }),
    send: () => {
      throw new Error('not sent here')
    },
  }),
}

async function openAccount(kinds: readonly HalfKind[] = ['calendar']) {
  const { db, tenantId } = await service.newTenant()
  const { id } = await sampleAccount(db, tenantId)
  for (const kind of kinds)
    await sql`
      insert into account_half (account_id, tenant_id, kind, stamp) values (${id}, ${tenantId}, ${kind}, 7)
    `.execute(db)
  const connectorOf = connectors({ db, kinds: { imap: toy }, reachedFor: 'calls' }, 'read')
  return { db, id, find: (kind: HalfKind) => connectorOf({ id, tenantId }, kind)() }
}

test('a connector leads to one kind of data, and has the stamp of its half', async () => {
  const { db, id, find } = await openAccount()
  const mail = await find('mail')
  expect(mail.host).toBe('mail.test')
  expect(await find('calendar')).toMatchObject({ host: 'calendar.test', version: '7' })
  await sql`update account_half set stamp = 8 where account_id = ${id} and kind = 'calendar'`.execute(db)
  expect((await find('calendar')).version).toBe('8')
  expect((await find('mail')).version).toBe(mail.version)
})

test.each<[string, HalfKind, HalfKind[]]>([
  ['that the provider lacks', 'contacts', ['calendar', 'contacts']],
  ['of which the account has no half', 'calendar', []],
])('data %s is refused, and mail goes on', async (_, kind, kinds) => {
  const { find } = await openAccount(kinds)
  await expect(find(kind)).rejects.toMatchObject({ kind: 'unsupported', isPermanent: true })
  expect((await find('mail')).host).toBe('mail.test')
})
