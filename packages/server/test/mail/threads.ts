/**
 * Groups messages that name each other, directly or through others, present or missing (the References and In-Reply-To
 * part of RFC 5256 section 2.2, without subjects). Gives each message the number of the first one of its thread.
 */
export function threadNumbers(
  messages: ReadonlyArray<{ internetMessageId: string | null; references?: readonly string[] }>,
): number[] {
  const parents = new Map<string, string>()
  const find = (name: string): string => {
    let root = name
    for (let up = parents.get(root); up !== undefined; up = parents.get(root)) root = up
    // Shortens the path for the next lookup.
    for (let at = name; at !== root;) {
      const up = parents.get(at) ?? root
      parents.set(at, root)
      at = up
    }
    return root
  }
  const nameOf = (index: number) => messages[index]?.internetMessageId ?? `nameless ${index}`
  messages.forEach(({ references = [] }, index) => {
    for (const reference of references) {
      const [mine, other] = [find(nameOf(index)), find(reference)]
      if (mine !== other) parents.set(other, mine)
    }
  })
  const first = new Map<string, number>()
  return messages.map((_, index) => {
    const root = find(nameOf(index))
    const number = first.get(root) ?? index
    first.set(root, number)
    return number
  })
}
