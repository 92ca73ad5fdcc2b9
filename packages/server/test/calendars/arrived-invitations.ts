import { sql } from 'kysely'
import type { Db } from '../../src/database/pool.ts'
import { askPython, type PythonPart } from '../bodies/ask-python.ts'
import type { DovecotServer } from '../servers/dovecot.ts'
import type { TestUser } from '../servers/mail-server.ts'
import { openWorld } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'

/** A mail about an event as it arrived. */
export interface ArrivedInvitation {
  subject: string
  from: string
  to: string[]
  method: string
  text: string
  /** The lines of the calendar, and those of its first event, without folds. */
  calendar: string[]
  event: string[]
}

/** Waits until a mailbox has so many mails, and reads their invitations in the order of their arrival. */
export async function waitForInvitations(
  dovecot: DovecotServer,
  user: TestUser,
  count: number,
): Promise<ArrivedInvitation[]> {
  await using world = await openWorld(dovecot, user)
  await waitUntil(`${count} mails of ${user.email}`, async () => (await world.uids('INBOX')).length >= count)
  const { untagged } = await world.witness.command('UID FETCH 1:* (BODY.PEEK[])')
  const raws = untagged.flatMap(([, kind, values]) =>
    kind === 'FETCH' ? (values as unknown[]).filter(value => Buffer.isBuffer(value)) : [],
  )
  return askPython(raws).map(({ subject, from, to, parts }) => {
    const textOf = (part: PythonPart | undefined) =>
      Buffer.from(part?.content ?? '', 'base64')
        .toString()
        .replaceAll('\r', '')
        .trimEnd()
    const calendar = textOf(parts.find(({ type }) => type === 'text/calendar'))
    if (textOf(parts.find(({ filename }) => filename === 'invite.ics')) !== calendar)
      throw new Error('the file is not the calendar')
    const lines = calendar.replaceAll(/\n[ \t]/g, '').split('\n')
    return {
      subject: subject || '',
      from: from?.[0]?.[1] ?? '',
      to: (to ?? []).map(([, address]) => address).toSorted(),
      method: valueOf(lines, 'METHOD') ?? '',
      text: parts.find(({ type }) => type === 'text/plain')?.text ?? '',
      calendar: lines,
      event: lines.slice(lines.indexOf('BEGIN:VEVENT'), lines.indexOf('END:VEVENT')),
    }
  })
}

/** The first value of a property of an event, or of the calendar. */
export const valueOf = (lines: readonly string[], name: string): string | undefined =>
  lines.find(line => line.startsWith(`${name}:`) || line.startsWith(`${name};`))?.replace(/^[^:]*:/, '')

/** The invitations that were ever queued: method and recipients of each. */
export async function countQueued(db: Db, accountId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from outbox where account_id = ${accountId} and origin = 'invitation'
  `.execute(db)
  return rows[0]!.count
}
