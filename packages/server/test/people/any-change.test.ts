import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { readContacts } from '../contacts/carddav-account.ts'
import type { GmailApp } from '../gmail/open-gmail-app.ts'
import { type Random, seeded } from '../seeded.ts'
import { useServer } from '../servers/shared-server.ts'
import { readFeed } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { configurePeople, type Person } from './other-client.ts'
import { connectPeople, openPeopleApp, type PeopleAccount } from './people-account.ts'

/* For more: `WAXWING_SEEDS=20 npx vitest run test/people/any-change.test.ts`. */
const SEEDS = Number(process.env['WAXWING_SEEDS'] ?? 2)
const ROUNDS = 2
const STEPS = 14
/** Longer than the lag of syncs. */
const LATER_SECONDS = 400
const LAG_SECONDS = 300
const HOST = 'people.googleapis.com'

const opened = useServer(() => openPeopleApp())

const NAMES = ['Ann', 'Bob', 'Cid', 'Dan', 'Eve', 'Fay'] as const
/** Refusals that a caller may get while Google fails, or another client changes the same contact. */
const EXPECTED = new Set([200, 404, 409, 429, 502, 503])

const emailsOf = (random: Random) =>
  Array.from(
    { length: random.between(0, 3) },
    () => `${random.pick(NAMES)}-${random.between(1, 3)}@example.com`,
  )

/** A contact as another client writes it. */
function personOf(random: Random): Person {
  return {
    names: [{ givenName: random.pick(NAMES), familyName: `${random.pick(NAMES)}son` }],
    emailAddresses: [...new Set(emailsOf(random))].map(value => ({
      value,
      type: random.pick(['home', 'club']),
    })),
    ...(random.chance(0.5) && {
      phoneNumbers: [{ value: `+1 ${random.between(100, 999)}`, type: 'mobile' }],
    }),
  }
}

async function actAsOther({ client }: PeopleAccount, random: Random): Promise<void> {
  const held = (await client.list()).map(({ resourceName }) => resourceName!)
  const kind = random.between(0, 5)
  if (kind <= 1 || held.length < 2) await client.add(personOf(random))
  else if (kind === 2) await client.change(random.pick(held), personOf(random))
  else if (kind === 3) await client.remove(random.pick(held))
  else if (kind === 4) await client.merge(random.pick(held))
  else {
    const [one, other] = [random.pick(held), random.pick(held)]
    await client.merge(...new Set([one, other]))
  }
}

/** @param asked ids that the interface changed or deleted, or could not find at Google */
async function actByInterface(account: PeopleAccount, random: Random, asked: Set<string>): Promise<void> {
  const { app } = opened()
  const held = await readContacts(app, account.account.id)
  const emails = () => [...new Set(emailsOf(random))].map(address => ({ address, type: 'home' }))
  const kind = random.between(0, 3)
  const chosen = held.length > 0 ? random.pick(held).id : null
  const at = chosen && `${account.path}/${chosen}`
  if (chosen && kind > 0) asked.add(chosen)
  let answer
  if (kind === 0 || at === null)
    answer = await app.post(account.path, { givenName: random.pick(NAMES), emails: emails() })
  else if (kind === 1) answer = await app.patch(at, { nickname: random.pick(NAMES), emails: emails() })
  else if (kind === 2)
    answer = await app.patch(at, { jobTitle: random.chance(0.5) ? null : 'Analyst', birthday: '--02-29' })
  else answer = await app.delete(at)
  expect(EXPECTED, JSON.stringify(answer.body)).toContain(answer.status)
}

async function disturb({ sandbox }: GmailApp, account: PeopleAccount, random: Random): Promise<void> {
  const kind = random.between(0, 4)
  if (kind === 0) await account.client.expire()
  else if (kind === 1) await configurePeople(sandbox, { syncLagSeconds: random.pick([0, LAG_SECONDS]) })
  else if (kind === 2) await sandbox.turnClock(random.between(1, LAG_SECONDS))
  else
    await sandbox.addFault({
      does: random.pick(['lost', 'error', 'rate_limit', 'torn']),
      host: HOST,
      probability: 0.5,
      count: random.between(1, 2),
    })
}

/** The part of a contact that both sides show, as text. */
const asText = (parts: ReadonlyArray<string | null | undefined>) => parts.map(part => part ?? '').join('|')

const shownAtGoogle = ({
  names,
  nicknames,
  emailAddresses,
  phoneNumbers,
  organizations,
  birthdays,
}: Person) =>
  asText([
    names?.[0]?.displayName,
    names?.[0]?.familyName,
    nicknames?.[0]?.value,
    emailAddresses?.map(({ value }) => value).join(),
    phoneNumbers?.map(({ value }) => value).join(),
    organizations?.[0]?.title,
    birthdays ? 'has a birthday' : '',
  ])

const shownInIndex = (contact: Contact) =>
  asText([
    contact.displayName,
    contact.familyName,
    contact.nickname,
    contact.emails.map(({ address }) => address).join(),
    contact.phones.map(({ number }) => number).join(),
    contact.jobTitle,
    contact.birthday ? 'has a birthday' : '',
  ])

/** Lets everything come to rest, and waits until the index is what Google has. */
async function settle({ app, sandbox }: GmailApp, account: PeopleAccount): Promise<Contact[]> {
  await sandbox.clearFaults()
  await configurePeople(sandbox, { syncLagSeconds: 0 })
  await sandbox.turnClock(LATER_SECONDS)
  const { id } = account.account
  let last = ''
  return waitUntil('the index to be what Google has', async () => {
    await account.look()
    const contacts = await readContacts(app, id)
    const there = (await account.client.list()).map(shownAtGoogle).toSorted().join('\n')
    const here = contacts.map(shownInIndex).toSorted().join('\n')
    last = `${there}\n--\n${here}`
    return there === here ? contacts : null
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${last}`)
  })
}

/** The contacts of a reader of the feed. Throws if the feed contradicts itself. */
async function foldContacts({ app }: GmailApp, accountId: string): Promise<Map<string, Contact>> {
  const folded = new Map<string, Contact>()
  for (const { type, accountId: of, data } of (await readFeed(app)).events) {
    const { contact } = data as { contact?: Contact }
    if (of !== accountId || !contact) continue
    if ((type === 'contact.created') === folded.has(contact.id))
      throw new Error(`${type} of ${contact.displayName} ${contact.id} does not follow from what was before`)
    if (type === 'contact.deleted') folded.delete(contact.id)
    else folded.set(contact.id, contact)
  }
  return folded
}

/** Our ids by the ids that contacts have within their source at Google. */
async function idsBySource({ app }: GmailApp, accountId: string): Promise<Map<string, string>> {
  const { rows } = await sql<{ uid: string; id: string }>`
    select uid, id from contact where account_id = ${accountId}
  `.execute(app.db)
  return new Map(rows.map(({ uid, id }) => [uid, id]))
}

const comparable = (contacts: Iterable<Contact>) =>
  [...contacts]
    .map(contact => ({ ...contact, updatedAt: null }))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))

test.each(Array.from({ length: SEEDS }, (_, index) => index + 1))(
  'ends with the contacts of Google, a feed that leads to them, and the ids that they had (seed %i)',
  async seed => {
    const random = seeded(`people/${seed}`)
    const account = await connectPeople(opened())
    const { id } = account.account
    let ids = new Map<string, string>()
    const asked = new Set<string>()
    const seen = new Set<string>()
    for (let round = 0; round < ROUNDS; round += 1) {
      for (let step = 0; step < STEPS; step += 1) {
        const acts = [actAsOther(account, random.fork(`other ${round} ${step}`))]
        if (random.chance(0.6)) acts.push(actByInterface(account, random.fork(`own ${round} ${step}`), asked))
        if (random.chance(0.3)) acts.push(disturb(opened(), account, random.fork(`trouble ${round} ${step}`)))
        if (random.chance(0.4)) acts.push(account.look().then(() => {}))
        // The other client may name a contact that is deleted meanwhile.
        for (const acted of await Promise.allSettled(acts))
          if (acted.status === 'rejected' && !/has no contact/.test(String(acted.reason))) throw acted.reason
      }
      const contacts = await settle(opened(), account)
      expect(comparable((await foldContacts(opened(), id)).values())).toEqual(comparable(contacts))
      const now = await idsBySource(opened(), id)
      // A contact that was merged while the interface found it gone goes on as another one of the merge.
      for (const [source, ours] of ids) {
        if (!now.has(source) || asked.has(ours)) continue
        expect(now.get(source)).toBe(ours)
      }
      ids = now
      for (const ours of ids.values()) seen.add(ours)
    }
    expect(seen.size).toBeGreaterThan(2)
  },
)
