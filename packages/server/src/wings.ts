import { implement } from '@orpc/server'
import { contract } from '@waxwing/contract/contract.ts'
import { openAccounts } from './features/accounts/wing.ts'
import { openCalendars } from './features/calendars/wing.ts'
import { openContacts } from './features/contacts/wing.ts'
import type { RequestContext } from './calls/context.ts'
import { openIntegrity } from './features/integrity/wing.ts'
import { openMail } from './features/mail/wing.ts'
import { openNotifications } from './features/notifications/wing.ts'
import { openSending } from './features/sending/wing.ts'
import { openTenancy } from './features/tenancy/wing.ts'
import type { Wing } from './wing/wing.ts'
import type { Resources } from './wing/resources.ts'

/**
 * Opens the wings in their order. A wing imports only earlier ones; what it needs of their open parts, it is given here.
 * Does not compile while an operation of the contract is missing.
 */
export async function openWings(resources: Resources) {
  const tenancy = await openTenancy(resources, () => counts)
  const accounts = await openAccounts(resources)
  const mail = openMail(resources)
  const sending = await openSending(resources, mail.content)
  const contacts = openContacts(resources)
  const calendars = openCalendars(resources, { content: mail.content, invitations: sending.invitations })
  const integrity = openIntegrity(resources)
  const notifications = await openNotifications(resources)

  const wings: readonly Wing[] = [
    tenancy,
    accounts,
    mail,
    sending,
    contacts,
    calendars,
    integrity,
    notifications,
  ]
  const counts: Required<NonNullable<Wing['counts']>> = {
    ...accounts.counts,
    ...sending.counts,
    ...notifications.counts,
  }
  const operations = implement(contract)
    .$context<RequestContext>()
    .router({
      ...tenancy.operations,
      ...accounts.operations,
      ...mail.operations,
      ...sending.operations,
      ...contacts.operations,
      ...calendars.operations,
      ...integrity.operations,
      ...notifications.operations,
    })
  return { wings, operations }
}
