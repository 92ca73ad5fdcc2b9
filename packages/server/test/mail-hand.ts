import type { Db } from '../src/database/pool.ts'
import { isUnmet } from '../src/database/precondition.ts'
import type { ChangeUnit } from '../src/calls/context.ts'
import { inTransaction } from '../src/events/unit-of-work.ts'
import {
  recordCreatedMailbox,
  recordDeletedMailbox,
  recordRenamedMailboxes,
} from '../src/features/mail/mailboxes/record-changes.ts'
import { listIndexedMailboxes, listPlacedMailboxes } from '../src/features/mail/mailboxes/store.ts'
import { findChangeable } from '../src/features/mail/messages/access.ts'
import { listMessageLocations, type MessageLocation } from '../src/features/mail/messages/location.ts'
import { lockMailAccount } from '../src/features/mail/messages/record-account.ts'
import { type CarriedOut, recordCarriedOut } from '../src/features/mail/messages/record-carried-out.ts'
import { recordAdded } from '../src/features/mail/messages/record-changes.ts'
import type { MailAccount, PlacedMailbox } from '../src/features/mail/messages/rules.ts'
import type { ProviderHand } from './mail-worlds.ts'
import type { Random } from './seeded.ts'

type Commit = (unit: ChangeUnit, account: MailAccount, placed: readonly PlacedMailbox[]) => Promise<unknown>

interface Pending {
  commit: Commit
  /** Moments until the commit. */
  delay: number
  about: string
}

const MAILBOXES_MAX = 9

/**
 * Changes mail as operations do: it reads where a message is, changes it at the provider, and commits that a while later,
 * or never, as a process that died. `act` is called at every moment of the sync.
 */
export class InterfaceHand {
  readonly #db: Db
  readonly #account: { id: string; tenantId: string }
  readonly #provider: ProviderHand
  readonly #random: Random
  #pending: Pending[] = []
  #isActing = false
  /** How often each message, by what it reads, was moved and marked, and each mailbox renamed. */
  readonly changes = new Map<string, number>()

  constructor(db: Db, account: { id: string; tenantId: string }, provider: ProviderHand, random: Random) {
    this.#db = db
    this.#account = account
    this.#provider = provider
    this.#random = random
  }

  async act(): Promise<void> {
    if (this.#isActing) return
    this.#isActing = true
    try {
      for (const one of this.#pending) one.delay--
      const due = this.#pending.filter(({ delay }) => delay <= 0)
      this.#pending = this.#pending.filter(one => !due.includes(one))
      for (const { commit } of due) await this.#commit(commit)
      if (this.#random.chance(0.15)) await this.#begin()
    } finally {
      this.#isActing = false
    }
  }

  async finish(): Promise<void> {
    const pending = this.#pending
    this.#pending = []
    for (const { commit } of pending) await this.#commit(commit)
  }

  async #commit(commit: Commit): Promise<void> {
    const { id, tenantId } = this.#account
    const attempt = (mayAssume: boolean) =>
      inTransaction(this.#db, tenantId, async unit => {
        const account = await lockMailAccount(unit, id)
        const placed = await listPlacedMailboxes(unit.sql, id)
        await commit({ ...unit, mayAssume, wake() {} }, account, placed)
      })
    await attempt(true).catch((error: unknown) => {
      if (!isUnmet(error)) throw error
      return attempt(false)
    })
  }

  async #begin(): Promise<void> {
    const kind = this.#random.between(0, 11)
    const commit = kind < 3 ? await this.#changeMailbox(kind) : await this.#changeMessage(kind)
    if (!commit) return
    // A crash: the sync finds out by itself.
    if (this.#random.chance(0.2)) return
    this.#pending.push({ ...commit, delay: this.#random.between(0, 8) })
    if (this.#pending.at(-1)!.delay === 0) await this.finish()
  }

  async #changeMailbox(kind: number): Promise<Omit<Pending, 'delay'> | null> {
    const placed = await listPlacedMailboxes(this.#db, this.#account.id)
    const custom = placed.filter(({ role }) => role === 'custom')
    const mailbox = custom[this.#random.between(0, custom.length)]
    if (kind === 0) {
      if (placed.length >= MAILBOXES_MAX) return null
      const created = this.#provider.createMailbox()
      return { about: '', commit: (unit, account) => recordCreatedMailbox(unit, account, created) }
    }
    if (!mailbox || this.#isPending(mailbox.id)) return null
    const { id, key } = mailbox
    if (kind === 1) {
      // A mailbox that was never followed is not recognised under another name, so its messages seem to move.
      const indexed = await listIndexedMailboxes(this.#db, this.#account.id)
      if (!indexed.some(held => held.id === id && held.cursor !== null)) return null
      const renamed = this.#provider.renameMailbox(key)
      if (!renamed) return null
      const renaming = { mailboxId: id, formerKey: key, mailbox: renamed }
      this.#count(`name of ${id}`)
      return { about: id, commit: (unit, account) => recordRenamedMailboxes(unit, account, [renaming]) }
    }
    const contents = custom.length < 3 ? null : this.#provider.deleteMailbox(key)
    if (!contents) return null
    for (const content of contents) this.#count(`mailboxIds of ${content}`)
    return { about: id, commit: (unit, account) => recordDeletedMailbox(unit, account, id) }
  }

  async #changeMessage(kind: number): Promise<Omit<Pending, 'delay'> | null> {
    const placed = await listPlacedMailboxes(this.#db, this.#account.id)
    const target = this.#random.pick(placed)
    if (kind === 3) return this.#add(target)
    const found = await this.#pick()
    if (!found || this.#isPending(found.location.messageId)) return null
    const { messageId, ...at } = found.location
    const isHere = target.id === at.mailboxId
    if (kind < 7 || (kind < 10 && isHere)) {
      const read = await findChangeable(this.#db, this.#account, messageId)
      const answer = this.#provider.toggleRead(at)
      if (!answer) return null
      this.#count(`isRead of ${found.content}`)
      const change = { messageId, at, flags: answer.flags, asRead: read?.located?.asRead }
      return { about: messageId, commit: this.#recording({ kind: 'flags', messages: [change] }) }
    }
    if (kind < 10) {
      const answer = this.#provider.move(at, target.key)
      if (!answer) return null
      this.#count(`mailboxIds of ${found.content}`)
      const moved = { messageId, from: at, mailboxKeys: answer.mailboxKeys, to: answer.to }
      return { about: messageId, commit: this.#recording({ kind: 'move', messages: [moved] }) }
    }
    if (!this.#provider.remove(at)) return null
    const removal: CarriedOut = { kind: 'removal', messages: [{ messageId, from: at }] }
    return { about: messageId, commit: this.#recording(removal) }
  }

  #recording(carriedOut: CarriedOut): Commit {
    const { id, tenantId } = this.#account
    return unit => recordCarriedOut(unit, { id, tenant_id: tenantId }, [carriedOut])
  }

  #add(target: PlacedMailbox): Omit<Pending, 'delay'> | null {
    const added = this.#provider.add(target.key)
    if (!added) return null
    const { message, to } = added
    const commit: Commit = (unit, account, now) => {
      const mailboxes = message.mailboxKeys.flatMap(key => now.find(mailbox => mailbox.key === key) ?? [])
      if (mailboxes.length > 0) return recordAdded(unit, account, { message, mailboxes, to })
      const asked = now.filter(({ id }) => id === target.id)
      return recordAdded(unit, account, { message, mailboxes: asked, to: null })
    }
    return { about: '', commit }
  }

  /** A message that an operation would find. */
  async #pick(): Promise<{ location: MessageLocation; content: string } | null> {
    const rows = await this.#db.selectFrom('message').select(['id', 'subject']).orderBy('subject').execute()
    const row = rows[this.#random.between(0, rows.length)]
    const [location] = row ? await listMessageLocations(this.#db, this.#account.id, [row.id]) : []
    return location && row ? { location, content: row.subject ?? '' } : null
  }

  #isPending(id: string): boolean {
    return this.#pending.some(({ about }) => about === id)
  }

  #count(what: string): void {
    this.changes.set(what, (this.changes.get(what) ?? 0) + 1)
  }
}
