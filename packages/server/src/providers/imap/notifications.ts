import type { AnswerHandler, CommandArguments, CommandConnection } from './command.ts'
import { accepts, isOfRename, type Listing, readListed } from './list.ts'
import type { MailboxStatus } from './mailboxes.ts'
import type { NotifyTrust } from './notify-trust.ts'
import type { Selected } from './open-mailbox.ts'
import { keyOf, readStatus } from './status.ts'
import { type ImapAttributeList, responseCode, responseText, textOf } from './values.ts'

const atom = (value: string) => ({ type: 'ATOM', value })
const MESSAGES = ['MessageNew', 'MessageExpunge', 'FlagChange'].map(atom)

/**
 * RFC 5465 section 6. The open mailbox is reported as without NOTIFY, so that message numbers stay valid during a
 * command. Only personal mailboxes are followed. SubscriptionChange is left out: subscriptions are not indexed.
 */
const ALL: CommandArguments = [
  atom('SET'),
  [atom('SELECTED-DELAYED'), MESSAGES],
  [atom('PERSONAL'), [...MESSAGES, atom('MailboxName')]],
]
/** For servers that refuse the other events. */
const ARRIVALS: CommandArguments = [
  atom('SET'),
  [atom('SELECTED-DELAYED'), MESSAGES.slice(0, 2)],
  [atom('PERSONAL'), MESSAGES.slice(0, 2)],
]

/** A connection that hands over unsolicited reports of the server. */
interface ReportedConnection extends CommandConnection {
  reportTo(notifications: Notifications): void
}

/**
 * The server's reports about all mailboxes of an account over one connection (NOTIFY, RFC 5465), and their comparison
 * with the findings of passes.
 */
export class Notifications {
  readonly #trust: NotifyTrust
  readonly #wasTrusted: boolean
  #isRequested = false
  #scope: 'nothing' | 'arrivals' | 'everything' = 'nothing'
  /** Something was reported that no pass has looked at. */
  #hasNews = false
  #isNextListOfPass = true
  /**
   * The mailboxes that the last pass listed; an entry is null if the mailbox was opened since. Null before the first
   * pass.
   */
  #listed: Map<string, MailboxStatus | null> | null = null
  /** Mailboxes that were reported since. */
  readonly #reported = new Set<string>()
  #areNamesReported = false
  /** Mailboxes whose change a pass found before the server reported it. */
  #unreported = new Set<string>()
  #wasDisturbed = false

  constructor(trust: NotifyTrust) {
    this.#trust = trust
    this.#wasTrusted = !trust.isLost
  }

  /** Whether the changes of all mailboxes are reported, as far as is known. */
  get areComplete(): boolean {
    return this.#scope === 'everything' && !this.#trust.isLost
  }

  /** Whether the server lost its trust over this connection. */
  get hasLostTrust(): boolean {
    return this.#wasTrusted && this.#trust.isLost
  }

  /** Factor by which the time between two passes may exceed the usual one. */
  get passFactor(): number {
    return this.areComplete ? this.#trust.passFactor : 1
  }

  /** Whether something was reported since the last pass. */
  get isAnythingReported(): boolean {
    return this.#hasNews || this.#areNamesReported || this.#reported.size > 0
  }

  /**
   * Requests reports of changes from the server. Called before mailboxes are listed, so that no change lies between the
   * two.
   */
  async request(connection: ReportedConnection): Promise<void> {
    if (this.#isRequested || !connection.has('NOTIFY') || !this.#trust.isWorthAsking) return
    this.#isRequested = true
    connection.reportTo(this)
    const isAccepted = (events: CommandArguments) =>
      accepts(connection, () => connection.run({ name: 'NOTIFY', arguments: events }))
    if (await isAccepted(ALL)) this.#scope = 'everything'
    else if (await isAccepted(ARRIVALS)) this.#scope = 'arrivals'
  }

  /** Whether there is news. The caller makes a pass then; it is not returned again. */
  take(): boolean {
    const had = this.#hasNews
    this.#hasNews = false
    this.#isNextListOfPass = true
    return had
  }

  /**
   * Compares the first list of a pass with the reports.
   * @param quiet the mailbox that was watched until the time was up and that was left for the list; null if something
   *   else prompted the pass
   */
  listed(listing: Listing, isUnprompted: boolean, quiet: Selected | null): void {
    if (this.#scope === 'nothing' || !this.#isNextListOfPass) return
    this.#isNextListOfPass = false
    if (this.#listed && isUnprompted && this.areComplete) this.#judge(this.#listed, listing, quiet)
    this.#listed = new Map(listing.statuses)
    this.#reported.clear()
    this.#areNamesReported = false
    // A report among the answers of a list may be older than the list, or newer. The next list shows which.
    if (listing.isDisturbed && !this.#wasDisturbed) this.#hasNews = true
    this.#wasDisturbed = listing.isDisturbed
  }

  #judge(
    before: ReadonlyMap<string, MailboxStatus | null>,
    { statuses }: Listing,
    quiet: Selected | null,
  ): void {
    if (this.#unreported.size > 0) return this.#trust.lose()
    const isUnreported = (name: string) => {
      if (this.#reported.has(name)) return false
      const [known, now] = [before.get(name), statuses.get(name)]
      if (!known || !now) return known !== null && !this.#areNamesReported
      return differs(known, now)
    }
    const names = new Set([...before.keys(), ...statuses.keys()])
    this.#unreported = new Set([...names].filter(isUnreported))
    const counted = quiet && statuses.get(keyOf(quiet.wireName))?.messages
    const isWatchedInVain = quiet !== null && counted !== null && counted !== quiet.exists
    if (this.#unreported.size > 0 || isWatchedInVain) this.#trust.late()
    else this.#trust.confirmed()
  }

  /** Notes that a mailbox was opened. Its changes are reported in another way until another one is opened. */
  opened(wireName: string): void {
    const name = keyOf(wireName)
    if (this.#listed?.has(name)) this.#listed.set(name, null)
  }

  /** Notes that a mailbox was left although a report about it was not read. */
  left(wireName: string): void {
    if (this.#scope === 'nothing') return
    this.#report(keyOf(wireName))
    this.#hasNews = true
  }

  /** @returns whether this status shows a change since the last pass */
  reportStatus(values: ImapAttributeList): boolean {
    const read = readStatus(values)
    if (!read) return false
    const { name, status } = read
    this.#report(name)
    const known = this.#listed?.get(name)
    if (known && !differs(known, status)) return false
    this.#hasNews = true
    return true
  }

  /** @returns whether a mailbox appeared, vanished or was renamed */
  reportName(values: ImapAttributeList): boolean {
    const mailbox = readListed(values)
    const isKnown = mailbox && this.#listed?.has(keyOf(mailbox.wireName)) && !isOfRename(values)
    const isGone = [...(mailbox?.attributes ?? [])].some(name => /^\\(?:noselect|nonexistent)$/i.test(name))
    if (isKnown && !isGone) return false
    this.#areNamesReported = true
    this.#hasNews = true
    return true
  }

  /** Notes that the server stopped reporting. @returns whether reports are requested again before the next pass */
  reportOverflow(): boolean {
    if (this.#scope === 'nothing') return true
    this.#trust.overflowed()
    this.#scope = 'nothing'
    this.#isRequested = false
    this.#hasNews = true
    return this.#trust.isWorthAsking
  }

  /** The server lost some reports. */
  reportLoss(): void {
    if (this.#scope === 'nothing') return
    this.#trust.late()
    this.#hasNews = true
  }

  #report(name: string): void {
    this.#unreported.delete(name)
    if (this.#listed?.has(name)) this.#reported.add(name)
    else this.#areNamesReported = true
  }
}

/** Whether one status shows a change since the other one. An item that either of them lacks shows nothing. */
function differs(before: MailboxStatus, now: MailboxStatus): boolean {
  const isOther = (item: keyof MailboxStatus) =>
    before[item] !== null && now[item] !== null && before[item] !== now[item]
  // With mod-sequences, flags are among what they show.
  const items: Array<keyof MailboxStatus> = ['uidValidity', 'uidNext', 'messages', 'highestModseq', 'unseen']
  return items.some(isOther)
}

/**
 * Handles reports of a server about all mailboxes in the answer to any command, or while none is under way.
 * @param close ends the connection
 */
export function hearReports(
  notifications: () => Notifications | null,
  { onNews, close }: { onNews(): void; close(): void },
): Record<string, AnswerHandler> {
  return {
    STATUS(_, values) {
      if (notifications()?.reportStatus(values)) onNews()
    },
    LIST(_, values) {
      if (notifications()?.reportName(values)) onNews()
    },
    OK(_, values) {
      if (textOf(responseCode(values)?.[0])?.toUpperCase() !== 'NOTIFICATIONOVERFLOW') return
      const isAskedAgain = notifications()?.reportOverflow() ?? true
      // RFC 5465 section 5.8: from now on the server would not even report the open mailbox.
      if (isAskedAgain) onNews()
      else close()
    },
    NO(_, values) {
      if (!/\bNOTIFY\b/i.test(responseText(values))) return
      notifications()?.reportLoss()
      onNews()
    },
  }
}

/** The handlers of a command, among whose answers an untagged OK may be a report. */
export function withReports(
  answers: Record<string, AnswerHandler>,
  { OK: report }: Record<string, AnswerHandler>,
): Record<string, AnswerHandler> {
  const { OK: answer } = answers
  if (!answer || !report) return answers
  return {
    ...answers,
    OK(number, values) {
      void report(number, values)
      return answer(number, values)
    },
  }
}
