import { KeptByName } from './kept-by-name.ts'
import { SharedSlots, type SlotSharing } from './shared-slots.ts'
import { type MailboxSlots, OwnSlots } from './slots.ts'

/** The slots of all mailboxes that this process calls. They are looked up with each call, so idle ones are forgotten. */
export class SlotsOfMailboxes {
  readonly #alone = new KeptByName<OwnSlots>(
    () => new OwnSlots(),
    slots => slots.isIdle,
  )
  readonly #shared: KeptByName<SharedSlots> | null

  /** @param sharing null: no other process calls the mailboxes */
  constructor(sharing: SlotSharing | null) {
    this.#shared =
      sharing &&
      new KeptByName(
        name => new SharedSlots(name, sharing),
        slots => slots.isIdle,
      )
  }

  /** @param name of an app and a mailbox */
  of(name: string): MailboxSlots {
    return {
      enter: (urgency, signal) => (this.#shared ?? this.#alone).of(name).enter(urgency, signal),
      holdUp: seconds => this.#shared?.of(name).holdUp(seconds),
    }
  }

  /** Adds the slot of the process that follows the mailbox, until it is disposed. */
  follow(name: string): AsyncDisposable {
    return this.#shared?.of(name).follow() ?? { [Symbol.asyncDispose]: async () => {} }
  }

  /** Gives back the slots that no call uses, since another process has come. */
  giveBackIdle(): void {
    for (const slots of this.#shared?.values() ?? []) slots.giveBackIdle()
  }
}
