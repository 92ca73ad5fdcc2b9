import { implement } from '@orpc/server'
import { mailSettings } from '@waxwing/contract/mail/mail-settings.ts'
import { requireAccount } from '../../accounts/accounts/access.ts'
import { lockHalf } from '../../../accounts/halves/lock.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { findMailSettings, updateMailSettings } from './store.ts'

const on = implement(mailSettings).$context<RequestContext>()

export const mailSettingOperations = {
  get: on.get.handler(async ({ input: { params }, context }) => {
    const { id } = await requireAccount(context, params.accountId)
    return findMailSettings(context.db, id)
  }),

  update: on.update.handler(async ({ input: { params, body }, context }) => {
    const { id } = await requireAccount(context, params.accountId)
    return context.change(async unit => {
      if (!(await lockHalf(unit, id, 'mail'))) refuse('account_not_found')
      await updateMailSettings(unit, id, body)
      return findMailSettings(unit.sql, id)
    })
  }),
}
