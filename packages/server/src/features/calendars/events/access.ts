import type { AccountView } from '../../../accounts/row.ts'
import { effectiveSettings } from '../../../accounts/settings.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { requireAccountView } from '../../accounts/accounts/access.ts'

/** Returns the account of the path, whose calendar is switched on; otherwise refuses with `calendar_disabled`. */
export async function requireCalendars(context: RequestContext, accountId: string): Promise<AccountView> {
  const account = await requireAccountView(context, accountId)
  if (!effectiveSettings(account.tenant_settings, account).calendarEnabled) refuse('calendar_disabled')
  return account
}
