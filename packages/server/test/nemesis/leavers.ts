import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { callerOf } from '../caller.ts'
import { openWorld } from '../servers/world.ts'
import { waitForFirstSync } from '../sync/followed-account.ts'
import type { Bed } from './bed.ts'
import type { RunAccount } from './clients/client-run.ts'
import { createKeyOfTenant } from './tenants.ts'

/** An account that will be deleted. */
export interface Leaver extends RunAccount {
  /** In all that its owner, its provider and its callers wrote, and nowhere else. */
  word: string
}

const MESSAGES = 5

/** Connects accounts of a tenant of their own. */
export async function openLeavers(bed: Bed, count: number): Promise<{ leavers: Leaver[]; key: string }> {
  const key = await createKeyOfTenant(bed, 'leaving')
  const leavers: Leaver[] = []
  for (let number = 0; number < count; number++) leavers.push(await openLeaver(bed, key, number))
  return { leavers, key }
}

async function openLeaver(bed: Bed, key: string, number: number): Promise<Leaver> {
  const word = `leaver${number}q`
  const user = await bed.mail.addUser(word)
  await using world = await openWorld(bed.mail, user)
  await world.deliver(
    Array.from({ length: MESSAGES }, (_, nth) => ({
      raw:
        `From: ${word} <ada@a.test>\r\nTo: ${user.email}\r\nSubject: ${word} ${nth}\r\n` +
        `Message-ID: <${nth}.${user.email}>\r\n\r\n${word}\r\n`,
    })),
  )
  const caller = callerOf(bed.addresses()[0] ?? '', key)
  const { status, body } = await caller.post<Account>('/v1/imap-accounts', {
    email: user.email,
    password: user.password,
    imap: { host: bed.imapProxy.host, port: bed.imapProxy.port, security: 'none', user: user.user },
    smtp: { host: bed.smtpProxy.host, port: bed.smtpProxy.port, security: 'none', user: user.user },
    settings: { syncWindowDays: null, bodyStorage: 'full' },
  })
  if (status !== 200) throw new Error(`could not connect: ${JSON.stringify(body)}`)
  await waitForFirstSync(caller, body.id)
  return { id: body.id, user, word }
}
