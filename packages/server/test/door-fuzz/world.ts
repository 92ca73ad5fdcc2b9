import { sql } from 'kysely'
import { accountKeys } from '../../src/accounts/secrets.ts'
import type { Db } from '../../src/database/pool.ts'
import { shownOf } from '../../src/features/calendars/events/shown.ts'
import { newId } from '../../src/kit/ids.ts'
import { DAY_MS } from '../../src/kit/wall-clock.ts'
import { addHalf } from '../halves.ts'
import { PLAIN_EVENT } from '../memory-calendars.ts'
import { openTestApp } from '../open-app.ts'
import { sampleAccount, sampleMailbox, sampleMessages } from '../sample-rows.ts'

/** Accounts that requests change and delete. The account of all other requests stays as it is. */
const CHANGED_ACCOUNTS = 5
const DELETED_ACCOUNTS = 50
const MESSAGES = 30

const refuseName = () =>
  Promise.reject(Object.assign(new Error('There is no such name'), { code: 'ENOTFOUND' }))

/**
 * Opens a tenant with accounts and mail, and credentials of every kind. Requests name them by placeholders such as
 * `{{account}}`, so that a seed gives the same requests although ids differ.
 */
export async function openFuzzWorld() {
  const app = await openTestApp({
    resolve: refuseName,
    config: { trustProxy: ['127.0.0.1'] },
    autoconfig: {
      records: { resolveSrv: refuseName, resolveMx: refuseName, resolveTxt: refuseName },
      ispdbUrl: 'https://ispdb.test/',
    },
  })
  const { db, tenantId } = app
  const stranger = await app.createTenant('stranger')
  const account = await sampleAccount(db, tenantId, { external_ref: 'crm-1' })
  const keys = accountKeys(app.keyRing)
  await db.transaction().execute(async tx => {
    const data_key = await keys.createDataKey(tx, { id: account.id, tenant_id: tenantId })
    await tx.updateTable('account').set({ data_key }).where('id', '=', account.id).execute()
  })
  const mailbox = await sampleMailbox(db, account, { name: 'Inbox', role: 'inbox' })
  const thread = newId()
  const messages = await sampleMessages(
    db,
    account,
    Array.from({ length: MESSAGES }, (_, nth) => ({
      mailboxIds: [mailbox.id],
      threadId: nth % 3 === 0 ? thread : null,
      receivedAt: new Date(Date.UTC(2026, 0, 1 + nth)),
    })),
  )
  const contacts = await addContacts(db, account.id, tenantId)
  const calendars = await addCalendar(db, account.id, tenantId)
  const strangersAccount = await sampleAccount(db, stranger.tenantId)
  const page = await app.get<{ nextCursor: string }>(`/v1/accounts/${account.id}/messages?limit=2`)
  const minted = await app.post<{ token: string }>(`/v1/accounts/${account.id}/tokens`, {
    ttlSeconds: 86_400,
  })
  const template = await app.post<{ id: string }>('/v1/templates', {
    name: 'Template',
    subject: 'News',
    text: 'There is news.\n',
  })
  await app.post('/v1/suppressions', { id: 'news', name: 'News' })
  const oauthApp = await app.post<{ id: string }>('/v1/oauth-apps', {
    provider: 'google',
    name: 'App',
    clientId: 'client.apps.googleusercontent.com',
    clientSecret: 'secret',
  })

  const session = await app.post<{ id: string }>('/v1/connect-sessions', {})
  const identities = await app.get<{ items: Array<{ id: string }> }>(`/v1/accounts/${account.id}/identities`)

  const names: Record<string, string> = {
    account: account.id,
    mailbox: mailbox.id,
    thread,
    message: messages[0] ?? '',
    ...contacts,
    ...calendars,
    session: session.body.id,
    identity: identities.body.items[0]?.id ?? '',
    stranger: strangersAccount.id,
    nothing: newId(),
    soon: new Date(Date.now() + DAY_MS).toISOString(),
    later: new Date(Date.now() + 3 * DAY_MS).toISOString(),
    cursor: page.body.nextCursor,
    template: template.body.id,
    list: 'news',
    app: oauthApp.body.id,
    'key all': app.key,
    'key read': (await app.createKey({ scopes: ['read'] })).text,
    'key write': (await app.createKey({ scopes: ['write'] })).text,
    'key bound': (await app.createKey({ accountIds: [account.id] })).text,
    'key stranger': stranger.key,
    'key expired': (await app.createKey({ expiresAt: new Date(0) })).text,
    token: minted.body.token,
  }
  for (const name of [...CHANGED, ...DELETED]) names[name] = (await sampleAccount(db, tenantId)).id
  return {
    app,
    fill: (text: string) => text.replaceAll(/\{\{([a-z0-9 ]+)\}\}/g, (whole, name) => names[name] ?? whole),
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  }
}

/** Switches contacts and calendars on, of a server that is not there, and gives the index a contact. */
async function addContacts(
  db: Db,
  id: string,
  tenantId: string,
): Promise<{ contact: string; folder: string }> {
  const url = 'https://dav.test/'
  const dav = { calendarUrl: url, contactsUrl: url, user: 'ada', auth: 'imap_password' }
  await sql`
    update account set settings_override = settings_override || '{"contactsEnabled": true, "calendarEnabled": true}',
      imap = jsonb_set(imap, '{dav}', ${JSON.stringify(dav)}::jsonb)
    where id = ${id}
  `.execute(db)
  await addHalf(db, id, 'contacts', [])
  const [contact, folder] = [newId(), newId()]
  await sql`
    insert into contact_folder (id, tenant_id, account_id, provider_key, name, position, is_default, is_read_only, is_shown)
    values (${folder}, ${tenantId}, ${id}, '/people', 'People', 0, true, false, true)
  `.execute(db)
  await sql`
    insert into contact (id, tenant_id, account_id, folder_id, provider_key, version, display_name, emails, phones,
      photo_state, sort_name, search_text, updated_at)
    values (${contact}, ${tenantId}, ${id}, ${folder}, '/people/ada.vcf', '1', 'Ada', '[]', '[]', 'none', 'ada', 'ada',
      clock_timestamp())
  `.execute(db)
  return { contact, folder }
}

/** Gives the index a calendar with one event. */
async function addCalendar(
  db: Db,
  id: string,
  tenantId: string,
): Promise<{ calendar: string; event: string }> {
  await addHalf(db, id, 'calendar', [])
  await sql`update account_half set initialized_at = clock_timestamp() where account_id = ${id} and kind = 'calendar'`.execute(
    db,
  )
  const [calendar, event] = [newId(), newId()]
  await sql`
    insert into calendar (id, tenant_id, account_id, provider_key, name, is_primary, access, can_edit, is_hidden, position, basis)
    values (${calendar}, ${tenantId}, ${id}, '/work', 'Work', true, 'owner', true, false, 0, '')
  `.execute(db)
  const shown = JSON.stringify(shownOf(PLAIN_EVENT, new Set()))
  await sql`
    with added as (
      insert into calendar_event (id, tenant_id, account_id, calendar_id, kind, provider_key, version, shown, start_at, end_at,
        ends_at, zone_release, updated_at)
      values (${event}, ${tenantId}, ${id}, ${calendar}, 'single', '/work/1.ics', '1', ${shown}::jsonb,
        clock_timestamp() + interval '1 day', clock_timestamp() + interval '2 days', clock_timestamp() + interval '2 days', '2026a',
        clock_timestamp())
      returning *)
    insert into calendar_span (id, account_id, calendar_id, root_id, event_id, start_at, end_at, start_wall, end_wall,
      is_busy, is_long)
    select id, account_id, calendar_id, id, id, start_at, end_at, ${PLAIN_EVENT.start.wall}, ${PLAIN_EVENT.end.wall}, true, false
    from added
  `.execute(db)
  return { calendar, event }
}

const CHANGED = Array.from({ length: CHANGED_ACCOUNTS }, (_, nth) => `changed ${nth}`)
const DELETED = Array.from({ length: DELETED_ACCOUNTS }, (_, nth) => `deleted ${nth}`)

/** Placeholders for an account in requests that do more than read it. */
export const CHANGED_NAMES = CHANGED.map(name => `{{${name}}}`)
export const DELETED_NAMES = DELETED.map(name => `{{${name}}}`)
export const CREDENTIALS = [
  '{{key all}}',
  '{{key read}}',
  '{{key write}}',
  '{{key bound}}',
  '{{key stranger}}',
  '{{key expired}}',
  '{{token}}',
]
