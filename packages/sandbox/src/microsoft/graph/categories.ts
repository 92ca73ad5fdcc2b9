import type { Category } from '../mailbox/mailbox.ts'
import { categoryId } from '../mailbox/fill.ts'
import { nextNumber } from '../mailbox/mailbox.ts'
import { badRequest, GraphRefusal, itemNotFound } from './errors.ts'
import { created, type GraphAnswer, type GraphMethod, type MethodCall, noContent, ok } from './method.ts'
import { READ_SETTINGS as READ, WRITE_SETTINGS as WRITE } from './mailbox-settings.ts'
import { contextOf } from './odata/paging.ts'

const NAME_CHARACTERS_MAX = 255
const CATEGORIES_MAX = 500
const PATH = 'outlook/masterCategories'
const needs = 'masterCategories'

/** Methods of the user's list of categories. */
export const categoryMethods: readonly GraphMethod[] = [
  { http: 'GET', path: PATH, scopes: READ, needs, options: ['select', 'top', 'skip'], run: list },
  { http: 'POST', path: PATH, scopes: WRITE, needs, run: create },
  { http: 'GET', path: `${PATH}/{category}`, scopes: READ, needs, run: call => ok(categoryOf(call)) },
  { http: 'PATCH', path: `${PATH}/{category}`, scopes: WRITE, needs, run: change },
  { http: 'DELETE', path: `${PATH}/{category}`, scopes: WRITE, needs, run: remove },
]

function list({ mailbox, url }: MethodCall): GraphAnswer {
  return ok({
    '@odata.context': contextOf(url, `users('${encodeURIComponent(mailbox.email)}')/${PATH}`),
    value: [...mailbox.categories.values()],
  })
}

function create({ mailbox, json }: MethodCall): GraphAnswer {
  const { displayName, color = 'none' } = json()
  if (
    typeof displayName !== 'string' ||
    displayName.trim() === '' ||
    displayName.length > NAME_CHARACTERS_MAX
  )
    throw badRequest('The display name of the category is missing or too long.', 'ErrorInvalidRequest')
  const isTaken = [...mailbox.categories.values()].some(
    one => one.displayName.toLowerCase() === displayName.toLowerCase(),
  )
  if (isTaken || mailbox.categories.size >= CATEGORIES_MAX)
    throw new GraphRefusal(409, 'ErrorCategoryAlreadyExists', 'A category with this name exists.')
  const category: Category = { id: categoryId(nextNumber(mailbox)), displayName, color: colorIn(color) }
  mailbox.categories.set(category.id, category)
  return created(category)
}

/** Changes the colour: a name cannot be changed. */
function change(call: MethodCall): GraphAnswer {
  const category = categoryOf(call)
  const { color, displayName } = call.json()
  if (displayName !== undefined && displayName !== category.displayName)
    throw badRequest('The display name of a category cannot be changed.', 'ErrorInvalidRequest')
  if (color !== undefined) category.color = colorIn(color)
  return ok(category)
}

function remove(call: MethodCall): GraphAnswer {
  call.mailbox.categories.delete(categoryOf(call).id)
  return noContent
}

function categoryOf({ mailbox, params }: MethodCall): Category {
  const category = mailbox.categories.get(params['category'] ?? '')
  if (!category) throw itemNotFound()
  return category
}

function colorIn(color: unknown): string {
  const text = String(color).toLowerCase()
  if (!/^(?:none|preset(?:\d|1\d|2[0-4]))$/.test(text))
    throw badRequest(`Requested value '${text}' was not found.`, 'ErrorInvalidRequest')
  return text
}
