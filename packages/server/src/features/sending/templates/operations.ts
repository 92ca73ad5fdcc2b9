import { implement } from '@orpc/server'
import { templates } from '@waxwing/contract/sending/templates.ts'
import { newId } from '../../../kit/ids.ts'
import type { Renderer } from '../../../kit/templating/renderer.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { answerPage, requirePosition } from '../../../calls/list-cursor.ts'
import { requireCompiling, requireTemplate } from './access.ts'
import { presentSummary, presentTemplate } from './present.ts'
import { recordChangedTemplate, recordTemplate, removeTemplate } from './record.ts'
import { differs, planTemplate, toFields } from './rules.ts'
import { listTemplates } from './store.ts'

const on = implement(templates).$context<RequestContext>()

export function templateOperations({ renderer }: { renderer: Renderer }) {
  return {
    list: on.list.handler(async ({ input: { query }, context }) => {
      const { limit, cursor, ...filters } = query
      const binding = { list: 'templates', filters }
      const position = requirePosition(context, cursor, binding)
      const rows = await listTemplates(context.db, context.tenantId, { filters, position, limit })
      return answerPage(context, rows, { limit, binding, present: presentSummary })
    }),

    create: on.create.handler(async ({ input: { body }, context }) => {
      const { accountId = null, ...given } = body
      await requireCompiling(renderer, context.tenantId, toFields(given))
      const content = planTemplate(null, given)
      return context.change(async unit =>
        presentTemplate(await recordTemplate(unit, { id: newId(), accountId, content })),
      )
    }),

    get: on.get.handler(async ({ input: { params }, context }) =>
      presentTemplate(await requireTemplate(context, context.db, params.templateId)),
    ),

    update: on.update.handler(async ({ input: { params, body }, context }) => {
      const { id } = await requireTemplate(context, context.db, params.templateId)
      await requireCompiling(renderer, context.tenantId, toFields(body))
      return context.change(async unit => {
        const before = await requireTemplate(unit, unit.sql, id, { lock: true })
        const after = planTemplate(before, body)
        return presentTemplate(differs(before, after) ? await recordChangedTemplate(unit, id, after) : before)
      })
    }),

    delete: on.delete.handler(async ({ input: { params }, context }) => {
      const { id } = await requireTemplate(context, context.db, params.templateId)
      return context.change(async unit => {
        await removeTemplate(unit, id)
        return null
      })
    }),
  }
}
