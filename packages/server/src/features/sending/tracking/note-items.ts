import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { Gathered } from '../../../kit/gathered.ts'
import { newId } from '../../../kit/ids.ts'
import type { KeyedAccount } from '../../../accounts/secrets.ts'
import type { TrackingItem } from './judge.ts'
import { REPEAT_SECONDS } from './judge.ts'

/** An open or a click, as it came. */
export interface NewItem extends Pick<TrackingItem, 'kind' | 'link' | 'sign' | 'userAgent'> {
  outboxId: string
  client: Buffer
  /** Null unless addresses are kept. */
  ip: string | null
  /** False: it is looked up only. */
  isNoted: boolean
}

/** Facts of a message by which its links lead on. */
export interface FoundSend {
  account: KeyedAccount
  links: Buffer | null
  /** Whether the message has so many items that further ones are not recorded. */
  isFlooded: boolean
}

/** Noted by one statement, and one commit. */
const BATCH_MAX = 200
/**
 * Items of one message that are kept, judged or not. Further items are a flood: they are answered and not noted, and a
 * metric counts them. At most 1,000 stay after they were judged.
 */
const ITEMS_OF_MESSAGE_MAX = 10_000
/** Items of the last seconds, which are remembered so that repetitions are not written down. */
const REMEMBERED_MAX = 50_000

/**
 * Records opens and clicks, and finds the data of their links, many by one statement. A request is answered once its
 * record is durable, so a crash loses none that was answered.
 */
export class ItemNotes implements AsyncDisposable {
  readonly #recent = new Map<string, number>()
  readonly #gathered: Gathered<NewItem, FoundSend | null>

  /** @param on `noted`: called with the account of each noted item; `flooded`: called for each that was not noted */
  constructor(db: Db, on: { noted(accountId: string): void; flooded(): void }) {
    this.#gathered = new Gathered(async items => {
      const found = await noteItems(db, items)
      for (const [nth, item] of items.entries()) this.#noted(item, found[nth] ?? null, on)
      return found
    }, BATCH_MAX)
  }

  /** Null if there is no such message, its account was purged, or the links of its tenant are off. */
  note(item: NewItem): Promise<FoundSend | null> {
    const isNoted = item.isNoted && !this.#isRepeated(item)
    return this.#gathered.ask({ ...item, isNoted })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gathered[Symbol.asyncDispose]()
  }

  #noted(
    item: NewItem,
    send: FoundSend | null,
    on: { noted(accountId: string): void; flooded(): void },
  ): void {
    if (!send || !item.isNoted) return
    if (send.isFlooded) {
      on.flooded()
      return
    }
    this.#remember(item)
    on.noted(send.account.id)
  }

  #isRepeated(item: NewItem): boolean {
    const at = this.#recent.get(keyOf(item))
    return at !== undefined && performance.now() - at < REPEAT_SECONDS * 1000
  }

  #remember(item: NewItem): void {
    const key = keyOf(item)
    this.#recent.delete(key)
    this.#recent.set(key, performance.now())
    if (this.#recent.size <= REMEMBERED_MAX) return
    const [oldest] = this.#recent.keys()
    if (oldest !== undefined) this.#recent.delete(oldest)
  }
}

function keyOf({ outboxId, kind, link, client }: NewItem): string {
  return `${outboxId} ${kind} ${link} ${client.toString('base64')}`
}

/** Nothing is noted for a deleted account or a missing entry, but links lead on. */
async function noteItems(db: Db, items: readonly NewItem[]): Promise<Array<FoundSend | null>> {
  const rows = items.map((item, place) => ({
    place,
    id: newId(),
    outbox_id: item.outboxId,
    kind: item.kind,
    link: item.link,
    client: item.client.toString('hex'),
    sign: item.sign,
    ip: item.ip,
    user_agent: item.userAgent,
    is_noted: item.isNoted,
  }))
  const { rows: found } = await sql<KeyedAccount & Omit<FoundSend, 'account'> & { place: number }>`
    with asked as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}) as asked (place int, id uuid, outbox_id uuid, kind text,
        link int, client text, sign text, ip text, user_agent text, is_noted boolean)
    ), found as materialized (
      select asked.place, asked.outbox_id, sent.links, account.id as account_id, account.tenant_id, account.data_key, account.deleted_at
      from asked join tracked_send as sent on sent.outbox_id = asked.outbox_id
      join account on account.id = sent.account_id
      join tenant on tenant.id = account.tenant_id and tenant.links_off_at is null
    ), flooded as materialized (
      select id from (select distinct outbox_id as id from asked) as message
      where exists (select from tracking_item where outbox_id = message.id offset ${ITEMS_OF_MESSAGE_MAX - 1})
    ), noted as (
      insert into tracking_item (id, outbox_id, account_id, tenant_id, kind, link, client, sign, ip, user_agent, occurred_at)
      select asked.id, asked.outbox_id, found.account_id, found.tenant_id, asked.kind, asked.link,
        decode(asked.client, 'hex'), asked.sign, asked.ip, asked.user_agent, clock_timestamp()
      from asked join found on found.place = asked.place join outbox on outbox.id = asked.outbox_id
      where asked.is_noted and found.deleted_at is null and asked.outbox_id not in (select id from flooded)
    )
    select place, links, account_id as id, tenant_id, data_key,
      outbox_id in (select id from flooded) as "isFlooded"
    from found
  `.execute(db)
  const byPlace = new Map(
    found.map(({ place, links, isFlooded, ...account }) => [place, { account, links, isFlooded }]),
  )
  return items.map((_, place) => byPlace.get(place) ?? null)
}
