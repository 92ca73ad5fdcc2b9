import { type AnyProcedure, Procedure } from '@orpc/server'
import type { Module } from '@waxwing/contract/operation.ts'
import type { RequestContext } from '../calls/context.ts'
import { refuse } from '../calls/refuse.ts'
import { findModule } from '../features/tenancy/plans/store.ts'

/** The procedure, which refuses tenants whose plan lacks the module: after its input was checked, before its handler. */
export function requiringModule(procedure: AnyProcedure, module: Module): AnyProcedure {
  const { middlewares, ...definition } = procedure['~orpc']
  const requireModule = async ({ context, next }: { context: RequestContext; next: () => unknown }) => {
    if (!(await findModule(context.db, context.tenantId, module))) refuse('plan_module_unavailable')
    return next()
  }
  return new Procedure({
    ...definition,
    middlewares: [...middlewares, requireModule],
  } as AnyProcedure['~orpc'])
}
