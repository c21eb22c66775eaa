// The section's words in Russian.

/** @type {Record<string, string>} */
export default {
  waysSize: "Размер",
  waysRun: "Запустить",
  waysRunning: "Считаем: {way}…",
  wayPlain: "Обычный JavaScript",
  wayTyped: "WebAssembly, обычные массивы",
  wayPlan: "WebAssembly, данные уже там",
  wayGpu: "WebGPU, данные уже там",
  wayGpuCopied: "WebGPU, с отправкой и чтением обратно",
  waysColumnWay: "Способ",
  waysColumnRate: "ГБ/с",
  waysColumnTime: "Время",
  waysColumnDifference: "Наибольшее отличие",
  waysMs: "{ms} мс",
  waysCaption:
    "{rows} × {features} float32: {size} МБ прочитано и столько же записано. Медианы на этой машине, отличия — относительно большего из 1 и результата.",
  waysDone: "Все результаты сходятся. Быстрее всего здесь «{way}»: × {factor} к обычному циклу.",
  waysDiffers: "Результат «{way}» отличается больше, чем допустимо. Пожалуйста, сообщите об этом.",
  waysAdapter: "WebGPU работает на: {name}.",
  waysSoftware: "Это не видеокарта, а программа на процессоре, поэтому медленно.",
  waysNoWebGpu: "В этом браузере нет WebGPU, поэтому видеокарта не участвует.",
  waysNoAdapter:
    "В этом браузере есть WebGPU, но нет видеокарты, которую он может использовать, поэтому она не участвует.",
  waysFailed: "Не получилось: {message}",
};
