/** A time as Graph writes it, with whole seconds. */
export const timeText = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`
