import type { Signature } from '@waxwing/contract/mail/identities.ts'
import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { enqueueUnlessDue } from '../../../jobs/enqueue.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { newId } from '../../../kit/ids.ts'
import { htmlToText } from '../../../kit/mime/html-to-text.ts'
import type { OfferedIdentity } from '../../../providers/identities.ts'
import { directionsJob } from '../messages/record-directions.ts'

/**
 * Records the addresses that the provider offers a locked account. Settings of an address that it no longer offers are
 * kept, in case it comes back.
 */
export async function recordOffered(
  unit: UnitOfWork,
  account: { id: string; email: string },
  offered: readonly OfferedIdentity[],
): Promise<void> {
  const own = comparedAddress(account.email)
  const isOwn = ({ isPrimary, address }: OfferedIdentity) => isPrimary || comparedAddress(address) === own
  await recordRead(unit, account.id, toSignature(offered.find(isOwn)?.signatureHtml ?? null))
  const others = new Map(
    offered.filter(one => !isOwn(one)).map(one => [comparedAddress(one.address), one] as const),
  )
  const rows = [...others].map(([compared, { address, name, signatureHtml }]) => ({
    id: newId(),
    compared_address: compared,
    address,
    name,
    provider_signature: toSignature(signatureHtml),
  }))
  const { rows: changed } = await sql`
    with offered as (
      select * from json_to_recordset(${JSON.stringify(rows)}::json)
        as offered (id uuid, compared_address text, address text, name text, provider_signature jsonb)
    ), dropped as (
      update identity set is_offered = false
      where account_id = ${account.id} and source = 'provider' and is_offered
        and compared_address not in (select compared_address from offered)
      returning id
    ), before as (
      select compared_address from identity where account_id = ${account.id} and is_offered
    ), recorded as (
      insert into identity as held
        (id, tenant_id, account_id, address, compared_address, name, source, provider_signature)
      select id, ${unit.tenantId}::uuid, ${account.id}::uuid, address, compared_address, name, 'provider', provider_signature
      from offered
      on conflict (account_id, compared_address) do update
        set address = excluded.address, name = excluded.name, is_offered = true,
          provider_signature = excluded.provider_signature
        where held.source = 'provider'
    )
    select id from dropped union all
    select id from offered where compared_address not in (select compared_address from before)
  `.execute(unit.sql)
  if (changed.length > 0) await enqueueUnlessDue(unit, directionsJob, { accountId: account.id })
}

async function recordRead(unit: UnitOfWork, accountId: string, own: Signature | null): Promise<void> {
  await sql`
    insert into mail_settings (account_id, tenant_id, provider_signature, identities_read_at, identities_asked_at)
    values (${accountId}, ${unit.tenantId}, ${own && JSON.stringify(own)}::jsonb, clock_timestamp(), clock_timestamp())
    on conflict (account_id) do update
      set provider_signature = excluded.provider_signature, identities_read_at = excluded.identities_read_at
  `.execute(unit.sql)
}

/** A list that is older than this is read again. */
const FRESH_HOURS = 24
/** The list is requested at most this often. */
const ASKED_SECONDS_MIN = 60

/**
 * Records that the provider's list is about to be requested. False if the list is fresh, or was requested a moment ago.
 * @param isWanted whether a fresh list is read again as well
 */
export async function recordAsked(
  unit: UnitOfWork,
  accountId: string,
  { isWanted }: { isWanted: boolean },
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    insert into mail_settings as held (account_id, tenant_id, identities_asked_at)
    values (${accountId}, ${unit.tenantId}, clock_timestamp())
    on conflict (account_id) do update set identities_asked_at = excluded.identities_asked_at
      where coalesce(
        held.identities_asked_at < clock_timestamp() - make_interval(secs => ${ASKED_SECONDS_MIN}), true)
      and (${isWanted}
        or coalesce(held.identities_read_at < clock_timestamp() - make_interval(hours => ${FRESH_HOURS}), true))
  `.execute(unit.sql)
  return numAffectedRows > 0n
}

/** The text of a signature is made from its HTML. */
function toSignature(html: string | null): Signature | null {
  return html === null ? null : { html, text: htmlToText(html) }
}
