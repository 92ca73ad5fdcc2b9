import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { RemoteContact } from '../../../providers/contacts.ts'
import { type ContactRow, contactColumns } from './contact-row.ts'
import { type ContactColumns, type PlacedFolder, planContacts } from './plan.ts'
import { isStorableKey } from '../../../kit/storable.ts'
import { presentContact } from './present.ts'
import { SAME_UID_MAX } from './store.ts'
import type { ContactAccount } from './rules.ts'

const COLUMNS =
  sql.raw(`(id uuid, folder_id uuid, provider_key text, version text, uid text, display_name text,
  given_name text, middle_name text, family_name text, nickname text, organization text, job_title text,
  department text, emails jsonb, phones jsonb, birthday text, notes text, photo_state text, photo_version text,
  sort_name text, search_text text, updated_at timestamptz)`)

export interface RecordingContacts {
  /** Folders of the index, by the provider's key. Contacts of others are left out. */
  folders: ReadonlyMap<string, PlacedFolder>
  /** Keys that the provider was asked about, and no longer has. */
  goneKeys?: ReadonlySet<string>
}

/**
 * Brings the index to contacts as they were read, and announces what differs. The only way in which rows of contacts
 * change, besides `recordDeletedContacts`. The contacts of the account must be locked.
 * @returns the ids of these contacts in the index, by the provider's key
 */
export async function recordContacts(
  unit: UnitOfWork,
  account: ContactAccount,
  remotes: readonly RemoteContact[],
  { folders, goneKeys = new Set() }: RecordingContacts,
): Promise<Map<string, string>> {
  if (remotes.length === 0) return new Map()
  const rows = await listRelated(unit, account.id, remotes)
  const plan = planContacts(rows, remotes, { folderOf: key => folders.get(key) ?? null, goneKeys })
  await recordDeletedContacts(unit, account, plan.mergedIds)
  const inserted = await insertContacts(unit, account, plan.inserted)
  const updated = await updateContacts(
    unit,
    plan.updated.map(({ columns }) => columns),
  )
  if (account.isInitialized) {
    for (const row of inserted)
      unit.announce({
        type: 'contact.created',
        accountId: account.id,
        data: { contact: presentContact(row) },
      })
    for (const { columns, changes } of plan.updated) {
      const row = updated.get(columns.id)
      if (!row || changes.length === 0) continue
      const data = { contact: presentContact(row), changes }
      unit.announce({ type: 'contact.updated', accountId: account.id, data })
    }
  }
  const now = [...rows, ...inserted, ...updated.values()]
  return new Map(now.map(({ provider_key, id }) => [provider_key, id]))
}

/** Deletes contacts and announces each. Their photos are swept. The contacts of the account must be locked. */
export async function recordDeletedContacts(
  unit: UnitOfWork,
  account: ContactAccount,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  const { rows } = await sql<ContactRow>`
    delete from contact where account_id = ${account.id} and id = any(${[...ids]}::uuid[])
    returning ${contactColumns}
  `.execute(unit.sql)
  if (!account.isInitialized) return
  for (const row of rows)
    unit.announce({ type: 'contact.deleted', accountId: account.id, data: { contact: presentContact(row) } })
}

/** The rows that contacts may be of: those with their keys, their former keys, or their uids. */
async function listRelated(
  unit: UnitOfWork,
  accountId: string,
  remotes: readonly RemoteContact[],
): Promise<ContactRow[]> {
  const keys = remotes.flatMap(({ key, formerKeys = [] }) => [key, ...formerKeys])
  const uids = remotes.flatMap(({ uid }) => uid ?? [])
  const { rows } = await sql<ContactRow>`
    select ${contactColumns} from contact
    where account_id = ${accountId} and provider_key = any(${keys.filter(isStorableKey)}::text[])
    union all
    select ${contactColumns} from (select distinct unnest(${uids.filter(isStorableKey)}::text[]) as uid) as wanted
    cross join lateral (
      select * from contact as same where account_id = ${accountId} and same.uid = wanted.uid
      order by id limit ${SAME_UID_MAX + 1}) as contact
    where provider_key <> all(${keys.filter(isStorableKey)}::text[])
    order by id
  `.execute(unit.sql)
  return rows
}

async function insertContacts(
  unit: UnitOfWork,
  account: ContactAccount,
  inserted: readonly ContactColumns[],
): Promise<ContactRow[]> {
  if (inserted.length === 0) return []
  const { rows } = await sql<ContactRow>`
    insert into contact (id, tenant_id, account_id, folder_id, provider_key, version, uid, display_name, given_name,
      middle_name, family_name, nickname, organization, job_title, department, emails, phones, birthday, notes,
      photo_state, photo_version, sort_name, search_text, updated_at)
    select id, ${account.tenantId}::uuid, ${account.id}::uuid, folder_id, provider_key, version, uid, display_name,
      given_name, middle_name, family_name, nickname, organization, job_title, department, emails, phones, birthday,
      notes, photo_state, photo_version, sort_name, search_text, coalesce(updated_at, clock_timestamp())
    from json_to_recordset(${JSON.stringify(inserted)}::json) as inserted ${COLUMNS}
    returning ${contactColumns}
  `.execute(unit.sql)
  return rows
}

async function updateContacts(
  unit: UnitOfWork,
  updated: readonly ContactColumns[],
): Promise<Map<string, ContactRow>> {
  if (updated.length === 0) return new Map()
  const { rows } = await sql<ContactRow>`
    update contact set folder_id = next.folder_id, provider_key = next.provider_key, version = next.version,
      uid = next.uid, display_name = next.display_name, given_name = next.given_name,
      middle_name = next.middle_name, family_name = next.family_name, nickname = next.nickname,
      organization = next.organization, job_title = next.job_title, department = next.department,
      emails = next.emails, phones = next.phones, birthday = next.birthday, notes = next.notes,
      photo_state = next.photo_state, photo_version = next.photo_version, sort_name = next.sort_name,
      search_text = next.search_text, missing_look = null,
      updated_at = coalesce(next.updated_at, clock_timestamp())
    from json_to_recordset(${JSON.stringify(updated)}::json) as next ${COLUMNS}
    where contact.id = next.id
    returning ${contactColumns}
  `.execute(unit.sql)
  return new Map(rows.map(row => [row.id, row]))
}
