import type { AccountView } from '../../src/accounts/row.ts'
import { accountKeys } from '../../src/accounts/secrets.ts'
import { findAccountView } from '../../src/accounts/store.ts'
import type { Db } from '../../src/database/pool.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { openLargeContents } from '../../src/features/sending/accepting/large-contents.ts'
import type { InvitationMail } from '../../src/features/sending/invitations/invitation.ts'
import { queueInvitations } from '../../src/features/sending/invitations/queue-invitations.ts'
import { writeInvitations } from '../../src/features/sending/invitations/write-invitations.ts'
import { newId } from '../../src/kit/ids.ts'
import type { KeyRing } from '../../src/kit/key-ring.ts'
import { openSlicedWork } from '../../src/kit/sliced-work.ts'
import { GRACE } from './open-sending.ts'

/** The database and the keys of a service that sends. */
export interface InvitingService {
  db: Db
  keyRing: KeyRing
  tenantId: string
}

/** An object as the calendars of an account write it, with lines that have to be encoded. */
export const ICS = [
  'BEGIN:VCALENDAR',
  'VERSION:2.0',
  'PRODID:-//Example//EN',
  'METHOD:REQUEST',
  'BEGIN:VEVENT',
  'UID:one@example.com',
  'SUMMARY:Über = die Brücke',
  'DTSTAMP:20261129T120000Z',
  'DTSTART:20261201T090000Z',
  'END:VEVENT',
  'END:VCALENDAR',
  '',
].join('\r\n')

export function invitation(change: Partial<InvitationMail> = {}): InvitationMail {
  return {
    id: newId(),
    from: { name: 'Ada Lovelace', address: 'ada@example.com' },
    to: [{ name: 'Grace', ...GRACE }],
    subject: 'Invitation: Bridges',
    text: 'Bridges, on Tuesday.',
    html: '<p>Bridges, on Tuesday.</p>',
    method: 'REQUEST',
    calendar: ICS,
    eventId: newId(),
    ...change,
  }
}

/** Queues mails of an account as the calendars do. @param of the account, or its id */
export async function invite(
  { db, keyRing, tenantId }: InvitingService,
  of: string | AccountView,
  mails: readonly InvitationMail[],
): Promise<void> {
  const account = typeof of === 'string' ? await findAccountView(db, tenantId, of) : of
  if (!account) throw new Error('the account is gone')
  const services = {
    accountKeys: accountKeys(keyRing),
    largeContents: openLargeContents(),
    slicesOf: openSlicedWork(),
    reach: async () => {},
    dropped: () => {},
  }
  const written = await writeInvitations(services, account, mails, work => inTransaction(db, tenantId, work))
  await inTransaction(db, tenantId, unit => queueInvitations(unit, account, written))
}
