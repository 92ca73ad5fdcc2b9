import { implement } from '@orpc/server'
import { templateRenders } from '@waxwing/contract/sending/templates.ts'
import { TEMPLATE_FIELDS } from '../../../kit/templating/template.ts'
import { findAccount } from '../../../accounts/store.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { refuseFailure, renderEach, type Rendering, requireUsableTemplate } from './access.ts'
import { toFields, variablesOf } from './rules.ts'

const on = implement(templateRenders).$context<RequestContext>()

export function templateRenderOperations(services: Rendering) {
  const { renderer } = services
  return {
    create: on.create.handler(async ({ input: { body }, context }) => {
      const { templateId, accountId, params, format } = body
      const hasFields = TEMPLATE_FIELDS.some(field => body[field] != null) || format != null
      if (templateId != null && hasFields) refuse('template_and_inline_fields')
      const named = accountId == null ? null : await requireKnownAccount(context, accountId)
      const template =
        templateId == null
          ? null
          : await requireUsableTemplate(context, services, templateId, named?.id ?? null)
      const ownId = template?.accountId ?? null
      const account =
        named ?? (ownId === null ? null : await findAccount(context.db, context.tenantId, ownId))
      const variables = variablesOf({ account, params }) ?? refuse('params_too_large')
      const [result] = await renderEach(renderer, context.tenantId, toFields(template ?? body), [variables])
      if (!result || 'failure' in result) return refuseFailure(result!)
      return result
    }),
  }
}

async function requireKnownAccount({ db, tenantId }: RequestContext, id: string) {
  return (await findAccount(db, tenantId, id)) ?? refuse('unknown_account', { ids: [id] })
}
